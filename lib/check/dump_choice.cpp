#include "check/dump_choice.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace vtower {
namespace {

// Names of final embeddings, ours first. last_hidden_state is none: in transformers it is what
// enters the merger.
constexpr std::array<std::string_view, 5> known_names{"embeddings", "merger", "pooler_output",
                                                      "image_embeds", "ec_cache"};
const std::string embeddings = "embeddings";

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char digit) { return digit >= '0' && digit <= '9'; });
}

std::string canonical(const std::string& stage) {
  return stage == "merger" ? embeddings : stage;
}

RowUnit unit_of(const std::string& stage) {
  if (stage == embeddings || stage.starts_with("deepstack.")) return RowUnit::token;
  for (const std::string_view name : {"normalized", "patch_embed", "pos_embed", "block_input"}) {
    if (stage == name) return RowUnit::patch;
  }
  return stage.starts_with("block.") ? RowUnit::patch : RowUnit::unknown;
}

// Names that say of themselves what stage they are.
bool names_a_stage(const std::string& name) {
  return unit_of(canonical(name)) != RowUnit::unknown && name != embeddings;
}

// NAME.0, NAME.1, ... as far as they go.
std::vector<std::string> numbered(const DumpSource& source, const std::string& name) {
  const std::string prefix = name + ".";
  std::size_t count = 0;
  for (auto it = source.tensors.lower_bound(prefix); it != source.tensors.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    if (is_number(std::string_view(it->first).substr(prefix.size()))) ++count;
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    names.push_back(prefix + std::to_string(i));
    if (source.find(names.back()) == nullptr) {
      source.fail(ErrorKind::out_of_range, "has " + std::to_string(count) + " tensors " + prefix +
                                               "N, but no " + names.back());
    }
  }
  return names;
}

// The tensor itself, or one numbered tensor for each item; empty where there is neither.
std::vector<std::string> named(const DumpSource& source, const std::string& name) {
  if (source.find(name) != nullptr) return {name};
  return numbered(source, name);
}

class Chooser {
 public:
  Chooser(const DumpSource& source, Origin origin, const DumpOptions& options)
      : source_(source), origin_(origin), options_(options), asked_(canonical(options.stage)) {
    const auto tag = source.metadata.find("stage");
    if (tag != source.metadata.end()) tag_ = canonical(tag->second);
  }

  DumpChoice choose() const {
    DumpChoice choice = options_.map.empty() ? by_stage() : by_map();
    choice.unit = unit_of(choice.stage);
    if (choice.stage == embeddings) choice.deepstack = numbered(source_, "deepstack");
    return choice;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    source_.fail(ErrorKind::not_comparable, what);
  }

  DumpChoice by_map() const {
    std::vector<std::string> names = named(source_, options_.map);
    if (names.empty()) {
      fail("has no tensor " + options_.map + ", which was asked for; it has " + source_.contents());
    }
    if (!names_a_stage(options_.map)) return as_declared(std::move(names));
    const std::string stage = canonical(options_.map);
    if (!asked_.empty() && asked_ != stage) {
      fail("tensor " + options_.map + " was asked for as stage " + asked_);
    }
    return {stage, std::move(names), {}, {}, {}};
  }

  DumpChoice by_stage() const {
    if (!asked_.empty() && asked_ != embeddings && source_.find(asked_) != nullptr) {
      return {asked_, {asked_}, {}, {}, {}};
    }
    for (const std::string_view name : known_names) {
      std::vector<std::string> names = named(source_, std::string(name));
      if (!names.empty()) return as_declared(std::move(names));
    }
    fail("has none of embeddings, merger, pooler_output and image_embeds; it has " +
         source_.contents() + hint());
  }

  std::string hint() const {
    if (source_.find("pixels") != nullptr || source_.find("pixel_values") != nullptr) {
      return ". Are these pixels, not embeddings?";
    }
    if (source_.find("last_hidden_state") != nullptr) {
      return ". last_hidden_state is the state before the merger; it is taken only if named";
    }
    return "";
  }

  // What the tensors are: as the file says, else as the caller does, else final embeddings.
  DumpChoice as_declared(std::vector<std::string> names) const {
    const std::string name = names.front();
    const std::string said = origin_ == Origin::ours || names_a_stage(name) ? embeddings : tag_;
    if (!asked_.empty() && !said.empty() && asked_ != said) {
      fail("stage " + asked_ + " was asked for, " + name + " is " + said + "; the file has " +
           source_.contents());
    }
    const bool other = !asked_.empty() && asked_ != embeddings;
    if (said.empty() && other && holds_stages()) {
      fail("has no tensor " + asked_ + ", the stage asked for; it has " + source_.contents());
    }
    DumpChoice choice{embeddings, std::move(names), {}, {}, {}};
    if (!said.empty()) {
      choice.stage = said;
    } else if (other) {
      choice.stage = asked_;
      choice.notes.push_back(name + " is taken as stage " + asked_ + ", as asked");
    }
    if (origin_ == Origin::foreign && tag_.empty() && asked_.empty()) {
      choice.notes.push_back("no vtower record: " + name + " is taken as final embeddings");
    }
    return choice;
  }

  // Some tensor is named as a stage: then those that are not there are missing.
  bool holds_stages() const {
    return std::any_of(source_.tensors.begin(), source_.tensors.end(), [](const auto& entry) {
      return names_a_stage(entry.first) && !entry.first.starts_with("deepstack.");
    });
  }

  const DumpSource& source_;
  Origin origin_;
  const DumpOptions& options_;
  std::string asked_;  // stage; empty: none
  std::string tag_;    // stage in the header of a foreign file; empty: none
};

}  // namespace

DumpChoice choose_tensors(const DumpSource& source, Origin origin, const DumpOptions& options) {
  return Chooser(source, origin, options).choose();
}

}  // namespace vtower
