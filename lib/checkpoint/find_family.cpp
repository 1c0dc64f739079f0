#include "checkpoint/find_family.h"

#include <utility>

#include "core/error.h"

namespace vtower {
namespace {

class FamilyFinder {
 public:
  FamilyFinder(const JsonObject& model, const JsonObject& vision, std::optional<Family> asked)
      : model_(model), vision_(vision), asked_(asked) {}

  FoundFamily find() {
    look_at_model_type(model_);
    look_at_model_type(vision_);
    if (model_.has("architectures")) {
      for (const std::string& name : model_.texts("architectures")) {
        const std::optional<Family> family = family_of_architecture(name);
        if (family) {
          agree(*family, model_, "architectures", name);
        } else {
          notes_.push_back(model_.origin("architectures") + ": " + name +
                           " is not known; the model_type decides");
        }
      }
    }
    if (asked_) return {take_asked(), notes_};
    if (unknown_) {
      unknown_->first.fail(
          "model_type",
          "found \"" + unknown_->second + "\"; vtower reads the towers of " + known_model_types());
    }
    if (!found_) {
      model_.fail("model_type",
                  "the key is absent, and neither vision_config.model_type nor architectures tell "
                  "the family; vtower reads the towers of " +
                      known_model_types());
    }
    return {found_->family, notes_};
  }

 private:
  struct Found {
    Family family;
    std::string origin;
  };

  void look_at_model_type(const JsonObject& object) {
    if (!object.has("model_type")) return;
    const std::string name = object.text("model_type");
    const std::optional<Family> family = family_of_model_type(name);
    if (family) {
      agree(*family, object, "model_type", name);
    } else if (!unknown_) {
      unknown_.emplace(object, name);
    }
  }

  void agree(Family family, const JsonObject& object, const std::string& key,
             const std::string& name) {
    if (!found_) found_ = Found{family, object.origin(key) + " \"" + name + "\""};
    if (found_->family == family) return;
    object.fail(key, "\"" + name + "\" is of the family " + std::string(to_string(family)) +
                         ", but " + found_->origin + " is of " +
                         std::string(to_string(found_->family)));
  }

  Family take_asked() {
    const std::string asked(to_string(*asked_));
    if (found_ && found_->family != *asked_) {
      throw Error(ErrorKind::checkpoint, "vision_config",
                  "the family " + asked + " was asked for, but " + found_->origin + " is of " +
                      std::string(to_string(found_->family)));
    }
    if (!found_ || unknown_) {
      notes_.push_back(
          "read as " + asked + ", as asked for; " +
          (unknown_ ? unknown_->first.origin("model_type") + " is \"" + unknown_->second + "\""
                    : std::string("config.json does not say")));
    }
    return *asked_;
  }

  const JsonObject& model_;
  const JsonObject& vision_;
  std::optional<Family> asked_;
  std::optional<Found> found_;
  std::optional<std::pair<const JsonObject&, std::string>> unknown_;
  std::vector<std::string> notes_;
};

}  // namespace

FoundFamily find_family(const JsonObject& model, const JsonObject& vision,
                        std::optional<Family> asked) {
  return FamilyFinder(model, vision, asked).find();
}

}  // namespace vtower
