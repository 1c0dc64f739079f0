#include "engine/ledger_record.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "core/error.h"

namespace vtower {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::device, "ledger", what);
}

// The float32 value as the tower's dtype holds it.
float rounded(float value, at::ScalarType type) {
  switch (type) {
    case at::kBFloat16: return static_cast<float>(static_cast<c10::BFloat16>(value));
    case at::kHalf: return static_cast<float>(static_cast<c10::Half>(value));
    default: return value;
  }
}

// "cuda" without a number is whichever is current.
bool is_on(c10::Device expected, c10::Device found) {
  return found.type() == expected.type() && (!expected.has_index() || found == expected);
}

std::string text(const ChannelRange& range) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), "%.4g..%.4g", static_cast<double>(range.smallest),
                static_cast<double>(range.largest));
  return buffer;
}

}  // namespace

LedgerRecord joined(const LedgerRecord& a, const LedgerRecord& b) {
  if (a.passes == 0) return b;
  LedgerRecord both = a;
  if (b.passes == 0) return both;
  both.passes += b.passes;
  for (std::size_t c = 0; c < 3; ++c) {
    ChannelRange& range = both.norm_observed[c];
    range.smallest = std::min(range.smallest, b.norm_observed[c].smallest);
    range.largest = std::max(range.largest, b.norm_observed[c].largest);
  }
  return both;
}

LedgerCheck::LedgerCheck(const VisionTower& tower)
    : declared_(declared_stages(tower.config())), placement_(tower.placement()) {
  const at::ScalarType type = placement_.scalar_type();
  for (std::size_t c = 0; c < 3; ++c) {
    const auto& values = tower.input_norm().table()[c];
    record_.norm_allowed[c] = {rounded(values.front(), type), rounded(values.back(), type)};
  }
}

void LedgerCheck::check_stages(const Ledger& ledger) const {
  for (std::size_t i = 0; i < std::max(declared_.size(), ledger.entries.size()); ++i) {
    const bool declared = i < declared_.size();
    const bool ran = i < ledger.entries.size();
    if (!declared || !ran || declared_[i] != ledger.entries[i].stage) {
      refuse("stage " + std::to_string(i) + ": expected " +
             (declared ? declared_[i] : "nothing more") + ", " +
             (ran ? ledger.entries[i].stage : "nothing") +
             " ran; a stage was skipped or ran twice");
    }
    const LedgerEntry& entry = ledger.entries[i];
    if (entry.dtype != placement_.scalar_type() || !is_on(placement_.device, entry.device)) {
      refuse(entry.stage + ": expected " + std::string(to_string(placement_.dtype)) + " on " +
             placement_.device.str() + ", it left as " + c10::toString(entry.dtype) + " on " +
             entry.device.str());
    }
  }
}

void LedgerCheck::check_range(const at::Tensor& norm_range) {
  const auto* values = norm_range.const_data_ptr<float>();
  for (std::size_t c = 0; c < 3; ++c) {
    const ChannelRange seen{values[c], values[3 + c]};
    const ChannelRange& allowed = record_.norm_allowed[c];
    if (!(seen.smallest >= allowed.smallest && seen.largest <= allowed.largest)) {
      refuse("normalised pixels of channel " + std::to_string(c) + " lie in " + text(seen) +
             ", the checkpoint's constants allow " + text(allowed) +
             "; was the normalisation skipped, or done twice?");
    }
    ChannelRange& observed = record_.norm_observed[c];
    observed.smallest =
        record_.passes == 0 ? seen.smallest : std::min(observed.smallest, seen.smallest);
    observed.largest =
        record_.passes == 0 ? seen.largest : std::max(observed.largest, seen.largest);
  }
}

void LedgerCheck::add(const Ledger& ledger, const at::Tensor& norm_range) {
  check_stages(ledger);
  check_range(norm_range);
  record_.stages = ledger.entries;
  ++record_.passes;
}

}  // namespace vtower
