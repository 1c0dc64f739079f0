#include "cli/encode.h"

#include "cli/encode_dp.h"
#include "cli/encode_output.h"
#include "cli/file_source.h"
#include "cli/mode_run.h"
#include "cli/progress_line.h"
#include "core/error.h"

namespace vtower::cli {

ExitCode EncodeCommand::operator()(const Terminal& terminal) const {
  if (run.mode == Mode::dp) return encode_dp(*this, terminal);
  if (dp.ranks) {
    throw Error(ErrorKind::usage, "options",
                "--ranks is for --mode dp, this is --mode " + std::string(to_string(run.mode)));
  }
  const Checkpoint checkpoint = Checkpoint::open(run.checkpoint);
  const int threads = run.apply_threads();
  ModeRun mode(run, checkpoint, threads);
  const PixelSpec spec = media.apply_to(checkpoint.preprocessor().pixels);
  const FileSource source(media.paths(), spec, media.options, threads);

  EncodeOptions options;
  options.max_batch_rows = mode.max_batch_rows();
  options.decode_threads = threads;
  options.capture = run.capture_all ? Capture::ahead : Capture::lazy;
  options.stages = stages_of(checkpoint.vision(), stages);
  ProgressLine progress(terminal, "items");
  options.on_progress = [&](const Progress& now) { progress.update(now.items_done, now.items); };

  EncodeResult result = encode_items(source, mode.runner(), options);
  return write_output(*this, terminal,
                      {std::move(result.items),
                       {},
                       spec.layout.merge_size,
                       checkpoint_json(checkpoint),
                       norm_json(checkpoint.preprocessor()),
                       plan_json(result.plan),
                       mode.attestation(),
                       ledger_json(mode.ledger()),
                       {}});
}

}  // namespace vtower::cli
