#include "core/error.h"
#include "engine/graph_runner.h"

namespace vtower {

std::unique_ptr<Runner> make_graph_runner(const VisionTower&, GraphOptions, GraphRecord&) {
  throw Error(ErrorKind::mode_unavailable, "graph",
              "--mode graph needs a GPU and a build with CUDA parts; --mode graph-plan runs the "
              "same padded plan without capture, on any device");
}

}  // namespace vtower
