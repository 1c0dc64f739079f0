#include "cli/inspect.h"

namespace vtower::cli {

void InspectCommand::add_to(CLI::App& app) {
  media.add_to(app);
  app.add_option("--checkpoint", checkpoint, "whose tower the pixels are for");
}

}  // namespace vtower::cli
