#include "cli/inspect.h"

#include "cli/inspect_checkpoint.h"
#include "cli/inspect_file.h"

namespace vtower::cli {
namespace {

// A folder with a configuration or a hub cache folder is a checkpoint; other folders hold media.
bool is_checkpoint(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  return fs::is_directory(path, ignored) &&
         (fs::exists(path / "config.json", ignored) || fs::exists(path / "snapshots", ignored));
}

}  // namespace

ExitCode InspectCommand::operator()(const Terminal& terminal) const {
  std::optional<Checkpoint> opened;
  if (!checkpoint.empty()) opened = Checkpoint::open(checkpoint);
  std::vector<ExitCode> codes{ExitCode::ok};
  std::vector<ItemFailure> failed;
  Json found = Json::array();
  const auto inspect = [&](const std::filesystem::path& path) {
    try {
      found.push_back(is_checkpoint(path) ? inspect_checkpoint(Checkpoint::open(path), terminal)
                                          : inspect_file(path, opened, media, terminal));
    } catch (const Error& error) {
      terminal.complain(path.string() + ": " + error.what());
      codes.push_back(exit_code_of(error.kind()));
      failed.push_back({path.string(), error.kind(), error.what()});
    }
  };
  std::vector<std::string> files;
  for (const std::string& input : media.inputs) {
    if (is_checkpoint(input)) {
      inspect(input);
    } else {
      files.push_back(input);
    }
  }
  if (!files.empty()) {
    MediaArguments rest = media;
    rest.inputs = files;
    for (const std::filesystem::path& path : rest.paths()) inspect(path);
  }
  const ExitCode code = worst(codes);
  terminal.report({{"found", std::move(found)},
                   {"failed", to_json(failed)},
                   {"exit_code", static_cast<int>(code)}});
  return code;
}

}  // namespace vtower::cli
