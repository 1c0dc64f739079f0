#include "check/lattice.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace vtower {
namespace {

// The distinct values of one channel with their counts, up to a limit far above the 256 that any
// lattice has.
class Histogram {
 public:
  static constexpr std::size_t most_values = 4096;

  struct Entry {
    float value = 0;
    std::uint64_t count = 0;
  };

  void add(float value) {
    value += 0.0F;  // -0 and 0 are one value
    const auto bits = std::bit_cast<std::uint32_t>(value);
    std::size_t slot = (bits * 2654435761U) >> (32 - slot_bits);
    while (slots_[slot].count != 0) {
      if (slots_[slot].value == value) {
        ++slots_[slot].count;
        return;
      }
      slot = (slot + 1) % slots_.size();
    }
    if (used_ == most_values) return;
    slots_[slot] = {value, 1};
    ++used_;
  }

  [[nodiscard]] std::vector<Entry> entries() const {
    std::vector<Entry> found;
    std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(found),
                 [](const Entry& entry) { return entry.count != 0; });
    return found;
  }

 private:
  static constexpr unsigned slot_bits = 14;
  std::vector<Entry> slots_ = std::vector<Entry>(std::size_t{1} << slot_bits);
  std::size_t used_ = 0;
};

using Histograms = std::array<std::vector<Histogram::Entry>, 3>;

// A channel of a table, to be searched by value.
class SortedChannel {
 public:
  explicit SortedChannel(const std::array<float, 256>& table) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      entries_[byte] = {table[byte], static_cast<std::uint8_t>(byte)};
    }
    std::sort(entries_.begin(), entries_.end());
  }

  struct Bytes {
    std::uint8_t lowest = 0;
    std::uint8_t highest = 0;
    int count = 0;  // 0: the value is not in the table
    friend bool operator==(const Bytes&, const Bytes&) = default;
  };

  [[nodiscard]] Bytes bytes_of(float value) const {
    auto entry = lower_bound(value);
    Bytes found;
    for (; entry != entries_.end() && entry->first == value; ++entry) {
      if (found.count == 0) found.lowest = entry->second;
      found.highest = entry->second;
      ++found.count;
    }
    return found;
  }

  [[nodiscard]] double distance(float value) const {
    const auto entry = lower_bound(value);
    double nearest = std::numeric_limits<double>::infinity();
    if (entry != entries_.end()) nearest = static_cast<double>(entry->first) - value;
    if (entry != entries_.begin()) {
      nearest = std::min(nearest, value - static_cast<double>((entry - 1)->first));
    }
    return nearest;
  }

 private:
  using Entries = std::array<std::pair<float, std::uint8_t>, 256>;
  [[nodiscard]] Entries::const_iterator lower_bound(float value) const {
    return std::lower_bound(entries_.begin(), entries_.end(), std::pair{value, std::uint8_t{0}});
  }
  Entries entries_;
};

class SortedTable {
 public:
  explicit SortedTable(const LatticeTable& table)
      : channels_{SortedChannel(table[0]), SortedChannel(table[1]), SortedChannel(table[2])} {}
  const SortedChannel& operator[](std::size_t channel) const { return channels_[channel]; }

 private:
  std::array<SortedChannel, 3> channels_;
};

// Calls visit(channel, row, column, value) for every value.
template <typename Visit>
void for_each_value(std::span<const float> values, const PatchLayout& layout, const Visit& visit) {
  const std::int64_t width = layout.row_width();
  const std::int64_t channel_width = width / PatchLayout::channels;
  const std::int64_t rows = static_cast<std::int64_t>(values.size()) / width;
  const float* value = values.data();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < width; ++column, ++value) {
      visit(static_cast<std::size_t>(column / channel_width), row, column, *value);
    }
  }
}

void require_rows(std::span<const float> values, const PatchLayout& layout) {
  const std::int64_t width = layout.row_width();
  if (width <= 0 || values.empty() || static_cast<std::int64_t>(values.size()) % width != 0) {
    throw Error(ErrorKind::unreadable, "lattice",
                std::to_string(values.size()) + " pixel values: expected whole rows of " +
                    std::to_string(width) + "; is this another patch size?");
  }
}

// The match of a hypothesis, or empty where a value is not in its table.
std::optional<LatticeMatch> match(const Histograms& histograms, const SortedTable& table,
                                  const LatticeHypothesis& hypothesis) {
  LatticeMatch found{hypothesis, 0, 1};
  for (std::size_t c = 0; c < histograms.size(); ++c) {
    for (const Histogram::Entry& entry : histograms[c]) {
      const int bytes = table[c].bytes_of(entry.value).count;
      if (bytes == 0) return std::nullopt;
      if (bytes > 1) found.ambiguous_values += entry.count;
      found.most_bytes_of_a_value = std::max(found.most_bytes_of_a_value, bytes);
    }
  }
  return found;
}

bool same_bytes(const Histograms& histograms, const SortedTable& one, const SortedTable& other) {
  for (std::size_t c = 0; c < histograms.size(); ++c) {
    for (const Histogram::Entry& entry : histograms[c]) {
      if (one[c].bytes_of(entry.value) != other[c].bytes_of(entry.value)) return false;
    }
  }
  return true;
}

struct Nearness {
  std::uint64_t on_lattice = 0;
  double largest_distance = 0;
  [[nodiscard]] bool better_than(const Nearness& other) const {
    if (on_lattice != other.on_lattice) return on_lattice > other.on_lattice;
    return largest_distance < other.largest_distance;
  }
};

Nearness nearness(const Histograms& histograms, const SortedTable& table) {
  Nearness near;
  for (std::size_t c = 0; c < histograms.size(); ++c) {
    for (const Histogram::Entry& entry : histograms[c]) {
      if (table[c].bytes_of(entry.value).count > 0) near.on_lattice += entry.count;
      near.largest_distance = std::max(near.largest_distance, table[c].distance(entry.value));
    }
  }
  return near;
}

// Fills in what is off the lattice of the nearest hypothesis.
void blame(LatticeFit& fit, std::span<const float> values, const PatchLayout& layout) {
  const SortedTable table(lattice_table(*fit.nearest));
  for_each_value(
      values, layout, [&](std::size_t c, std::int64_t row, std::int64_t column, float value) {
        if (std::isfinite(value)) {
          if (table[c].bytes_of(value + 0.0F).count > 0) return;
          fit.largest_distance = std::max(fit.largest_distance, table[c].distance(value));
        }
        ++fit.off_lattice;
        if (!fit.first_off_lattice) fit.first_off_lattice = {row, column, value};
      });
}

}  // namespace

LatticeFit fit_lattice(std::span<const float> values, const PatchLayout& layout, DType storage,
                       std::span<const LatticeConstants> constants) {
  require_rows(values, layout);
  const std::vector<LatticeHypothesis> hypotheses = lattice_hypotheses(storage, constants);

  LatticeFit fit;
  fit.values = values.size();
  std::array<Histogram, 3> counters;
  for_each_value(values, layout,
                 [&](std::size_t c, std::int64_t row, std::int64_t column, float value) {
                   if (std::isfinite(value)) return counters[c].add(value);
                   ++fit.non_finite;
                   if (!fit.first_non_finite) fit.first_non_finite = {row, column, value};
                 });
  const Histograms histograms{counters[0].entries(), counters[1].entries(), counters[2].entries()};

  std::optional<SortedTable> first;
  std::optional<Nearness> best;
  for (const LatticeHypothesis& hypothesis : hypotheses) {
    const SortedTable table(lattice_table(hypothesis));
    const std::optional<LatticeMatch> matched =
        fit.non_finite == 0 ? match(histograms, table, hypothesis) : std::nullopt;
    if (matched) {
      fit.bytes_agree = fit.bytes_agree && (!first || same_bytes(histograms, *first, table));
      if (!first) first = table;
      fit.matches.push_back(*matched);
    } else if (fit.matches.empty()) {
      const Nearness near = nearness(histograms, table);
      if (!best || near.better_than(*best)) {
        best = near;
        fit.nearest = hypothesis;
      }
    }
  }
  if (!fit.matches.empty() || fit.non_finite == fit.values) fit.nearest.reset();
  if (fit.nearest) blame(fit, values, layout);
  return fit;
}

RecoveredBytes recover_bytes(std::span<const float> values, const PatchLayout& layout,
                             const LatticeHypothesis& hypothesis) {
  require_rows(values, layout);
  const SortedTable table(lattice_table(hypothesis));
  RecoveredBytes recovered{ByteBuffer(values.size()), ByteBuffer(values.size()), 0};
  std::size_t i = 0;
  for_each_value(values, layout,
                 [&](std::size_t c, std::int64_t row, std::int64_t column, float value) {
                   const SortedChannel::Bytes bytes = table[c].bytes_of(value + 0.0F);
                   if (bytes.count == 0) {
                     throw Error(ErrorKind::not_comparable, "lattice",
                                 "row " + std::to_string(row) + ", column " +
                                     std::to_string(column) + ": " + std::to_string(value) +
                                     " is not a value of pixels " + describe(hypothesis));
                   }
                   recovered.lowest.data()[i] = bytes.lowest;
                   recovered.highest.data()[i] = bytes.highest;
                   if (bytes.count > 1) ++recovered.ambiguous_values;
                   ++i;
                 });
  return recovered;
}

}  // namespace vtower
