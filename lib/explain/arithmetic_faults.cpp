// Faults of what the tower computes: activations, epsilons, scales, rotation.

#include <cmath>
#include <utility>

#include "explain/fault.h"

namespace vtower::explain {
namespace {

Fault configured(const std::string& id, const std::string& variant, const std::string& sentence,
                 std::function<void(VisionConfig&)> config) {
  Fault fault;
  fault.id = id;
  fault.variant = variant;
  fault.sentence = sentence;
  fault.config = std::move(config);
  return fault;
}

// The rotation's tables on their way to the blocks.
Fault rotated(const std::string& id, const std::string& variant, const std::string& sentence,
              StageTrace::Internals internals) {
  Fault fault;
  fault.id = id;
  fault.variant = variant;
  fault.sentence = sentence;
  fault.trace = [internals = std::move(internals)](const SeqPlan&) {
    return StageTrace().with_internals(internals);
  };
  return fault;
}

void add_activations(std::vector<Fault>& faults, const VisionConfig& config) {
  for (const Activation other :
       {Activation::quick_gelu, Activation::silu, Activation::gelu, Activation::gelu_tanh}) {
    const std::string name(to_string(other));
    if (other != config.hidden_act) {
      faults.push_back(configured(
          "activation_other", name,
          "the MLPs use " + name + " instead of " + std::string(to_string(config.hidden_act)),
          [other](VisionConfig& altered) { altered.hidden_act = other; }));
    }
    if (other != config.merger_act) {
      faults.push_back(configured(
          "merger_activation_other", name,
          "the mergers use " + name + " instead of " + std::string(to_string(config.merger_act)),
          [other](VisionConfig& altered) { altered.merger_act = other; }));
    }
  }
}

void add_rotations(std::vector<Fault>& faults) {
  const auto round_to = [](at::ScalarType type, const std::string& what) {
    return [=](const std::string& name, at::Tensor& value) {
      if (name.find(what) != std::string::npos) value.copy_(value.to(type));
    };
  };
  for (const auto& [type, name] :
       {std::pair{at::kBFloat16, "bf16"}, std::pair{at::kHalf, "fp16"}}) {
    const std::string word = name;
    faults.push_back(rotated("rope_low_precision", word, "cos and sin are rounded to " + word,
                             [round = round_to(type, "rotary.")](auto& which, at::Tensor& value) {
                               if (which != "rotary.angles") round(which, value);
                             }));
    faults.push_back(rotated("rope_low_precision", word + "-angles",
                             "the rotation's angles are rounded to " + word,
                             round_to(type, "rotary.angles")));
    faults.push_back(rotated("rope_low_precision", word + "-all",
                             "angles, cos and sin are rounded to " + word,
                             round_to(type, "rotary.")));
  }
  faults.push_back(rotated("rope_halves_swapped", "backwards",
                           "the halves of a head are rotated the other way round",
                           [](const std::string& which, at::Tensor& value) {
                             if (which == "rotary.sin") value.neg_();
                           }));
  faults.push_back(rotated("rope_halves_swapped", "cos-for-sin",
                           "the rotation takes sin for cos and cos for sin",
                           [](const std::string& which, at::Tensor& value) {
                             // cos(pi/2 - a) = sin(a), and the other way round
                             if (which == "rotary.angles") value.neg_().add_(std::acos(0.0));
                           }));
  faults.push_back(rotated("rope_skipped", "", "there is no rotary position",
                           [](const std::string& which, at::Tensor& value) {
                             if (which == "rotary.angles") value.zero_();
                           }));
}

}  // namespace

std::vector<Fault> arithmetic_faults(const Setting& setting) {
  const VisionConfig& config = setting.config;
  std::vector<Fault> faults;
  add_activations(faults, config);
  for (const auto& [eps, name] :
       {std::pair{1e-5, "1e-5"}, std::pair{1e-6, "1e-6"}, std::pair{1e-12, "1e-12"}}) {
    if (eps == config.norm_eps) continue;
    faults.push_back(
        configured("eps_other", name,
                   std::string("the norms' epsilon is ") + name + " instead of the checkpoint's",
                   [eps = eps](VisionConfig& altered) { altered.norm_eps = eps; }));
  }
  add_rotations(faults);

  const std::int64_t head_dim = config.head_dim();
  const auto scaled = [&](const std::string& variant, const std::string& sentence, double factor) {
    Fault fault;
    fault.id = "softmax_scale_other";
    fault.variant = variant;
    fault.sentence = sentence;
    fault.weights = [factor, width = config.width](const std::string& name,
                                                   const at::Tensor& stored) {
      if (name.find("attn.qkv.") == std::string::npos) return stored;
      at::Tensor rows = stored.to(at::kDouble);
      rows.narrow(0, 0, width).mul_(factor);
      return rows.to(at::kFloat);
    };
    faults.push_back(std::move(fault));
  };
  const double own = std::sqrt(static_cast<double>(head_dim));
  scaled("none", "attention scores are not scaled", own);
  scaled("head-dim", "attention scores are scaled twice (divided by the head width)", 1 / own);
  scaled("width", "attention scores are scaled by the tower's width, not the head's",
         own / std::sqrt(static_cast<double>(config.width)));
  for (const std::int64_t padded : {32, 64, 96, 128, 256}) {
    if (padded <= head_dim || padded > 2 * head_dim + 32) continue;
    scaled("padded-" + std::to_string(padded),
           "attention scores are scaled for heads padded to " + std::to_string(padded),
           own / std::sqrt(static_cast<double>(padded)));
  }
  return faults;
}

}  // namespace vtower::explain
