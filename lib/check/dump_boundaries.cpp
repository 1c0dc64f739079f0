#include "check/dump_boundaries.h"

#include <cstring>
#include <numeric>

namespace vtower {
namespace {

constexpr std::int64_t most_rows = std::int64_t{1} << 44;
// No product of these leaves 64 bits.
constexpr std::int64_t longest_side = std::int64_t{1} << 16;
constexpr std::int64_t largest_merge = 64;

std::string text(std::int64_t value) {
  return std::to_string(value);
}

std::string text(const GridThw& grid) {
  return text(grid.t) + "x" + text(grid.h) + "x" + text(grid.w);
}

// One source of boundaries: its name and the rows of each item.
struct Claim {
  std::string name;
  std::vector<std::int64_t> rows;

  [[nodiscard]] std::int64_t total() const {
    return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  }
};

class BoundaryReader {
 public:
  BoundaryReader(const DumpSource& source, const RowLayout& layout)
      : source_(source), layout_(layout), merge_(layout.merge_size * layout.merge_size) {}

  Boundaries read() const {
    const std::vector<GridThw> grids = read_grids();
    const std::vector<Claim> tokens = token_claims();
    std::vector<Claim> claims;
    if (!layout_.parts.empty()) claims.push_back({layout_.name, layout_.parts});
    const RowUnit unit = settle_unit(grids, tokens);
    for (const Claim& claim : tokens) claims.push_back(in_rows(claim, unit));
    if (has_grids()) claims.push_back(in_rows(grids, unit));
    if (claims.empty()) return {whole(), {}, layout_.rows > 0};
    for (const std::int64_t rows : layout_.parts) {
      if (rows == 0) fail("one of the tensors " + layout_.name + ", ... has no rows");
    }
    for (const Claim& claim : claims) check_total(claim, grids, unit);
    for (const Claim& claim : claims) check_same(claims.front(), claim);
    std::vector<std::int64_t> cu{0};
    for (const std::int64_t rows : claims.front().rows) cu.push_back(cu.back() + rows);
    return {std::move(cu), grids, false};
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    source_.fail(ErrorKind::out_of_range, what);
  }

  [[nodiscard]] bool has_grids() const { return source_.find("grid_thw") != nullptr; }

  [[nodiscard]] std::vector<std::int64_t> whole() const {
    return layout_.rows > 0 ? std::vector<std::int64_t>{0, layout_.rows}
                            : std::vector<std::int64_t>{0};
  }

  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& name) const {
    const TensorView& view = *source_.find(name);
    std::vector<std::int64_t> values;
    if (view.dtype == DType::i64) {
      values.resize(view.bytes.size() / 8);
      if (!values.empty()) std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
    } else if (view.dtype == DType::i32) {
      std::vector<std::int32_t> narrow(view.bytes.size() / 4);
      if (!narrow.empty()) std::memcpy(narrow.data(), view.bytes.data(), view.bytes.size());
      values.assign(narrow.begin(), narrow.end());
    } else {
      fail(name + " is " + describe(view) + ", expected I64 or I32");
    }
    return values;
  }

  [[nodiscard]] std::vector<GridThw> read_grids() const {
    if (!has_grids()) return {};
    const TensorView& view = *source_.find("grid_thw");
    if (view.shape.size() != 2 || view.shape[1] != 3) {
      fail("grid_thw is " + describe(view) + ", expected [items, 3]");
    }
    const std::vector<std::int64_t> sides = integers("grid_thw");
    std::vector<GridThw> grids;
    for (std::size_t i = 0; i < sides.size(); i += 3) {
      const GridThw grid{sides[i], sides[i + 1], sides[i + 2]};
      for (const std::int64_t side : {grid.t, grid.h, grid.w}) {
        if (side < 1 || side > longest_side) {
          fail("grid_thw of item " + text(static_cast<std::int64_t>(grids.size())) + " is " +
               text(grid) + ", expected sides from 1 to " + text(longest_side));
        }
      }
      if (grid.h % layout_.merge_size != 0 || grid.w % layout_.merge_size != 0) {
        fail("grid_thw of item " + text(static_cast<std::int64_t>(grids.size())) + " is " +
             text(grid) + ", height and width are no multiples of the merge size " +
             text(layout_.merge_size));
      }
      grids.push_back(grid);
    }
    return grids;
  }

  // Tokens of each item as `cu_tokens` and its namesake have them.
  [[nodiscard]] std::vector<Claim> token_claims() const {
    std::vector<Claim> claims;
    for (const char* name : {"cu_tokens", "cu_seqlens_tokens"}) {
      if (source_.find(name) == nullptr) continue;
      const std::vector<std::int64_t> cu = integers(name);
      if (source_.find(name)->shape.size() != 1 || cu.empty() || cu.front() != 0) {
        fail(std::string(name) + " is " + describe(*source_.find(name)) +
             (cu.empty() ? "" : " and begins at " + text(cu.front())) +
             ", expected [items + 1] that begins at 0");
      }
      Claim claim{name, {}};
      for (std::size_t i = 1; i < cu.size(); ++i) {
        if (cu[i] <= cu[i - 1] || cu[i] > most_rows) {
          fail(std::string(name) + " does not ascend: entry " + text(static_cast<std::int64_t>(i)) +
               " is " + text(cu[i]) + " after " + text(cu[i - 1]));
        }
        claim.rows.push_back(cu[i] - cu[i - 1]);
      }
      claims.push_back(std::move(claim));
    }
    return claims;
  }

  // For rows of unknown kind: patches only where tokens do not fit and patches do.
  [[nodiscard]] RowUnit settle_unit(const std::vector<GridThw>& grids,
                                    const std::vector<Claim>& tokens) const {
    if (layout_.unit != RowUnit::unknown) return layout_.unit;
    if (tokens.empty() && !has_grids()) return RowUnit::token;
    const Claim patches =
        tokens.empty() ? in_rows(grids, RowUnit::patch) : in_rows(tokens.front(), RowUnit::patch);
    return patches.total() == layout_.rows ? RowUnit::patch : RowUnit::token;
  }

  [[nodiscard]] Claim in_rows(Claim tokens, RowUnit unit) const {
    if (unit == RowUnit::patch) {
      for (std::int64_t& rows : tokens.rows) rows *= merge_;
    }
    return tokens;
  }

  [[nodiscard]] Claim in_rows(const std::vector<GridThw>& grids, RowUnit unit) const {
    Claim claim{"grid_thw", {}};
    std::int64_t total = 0;
    for (const GridThw& grid : grids) {
      claim.rows.push_back(unit == RowUnit::patch ? grid.patches()
                                                  : grid.tokens(layout_.merge_size));
      total += claim.rows.back();
      if (total > most_rows) fail("grid_thw makes more rows than any file holds");
    }
    return claim;
  }

  void check_total(const Claim& claim, const std::vector<GridThw>& grids, RowUnit unit) const {
    const std::int64_t total = claim.total();
    if (total == layout_.rows) return;
    std::string what = claim.name + " makes " + text(total) +
                       (unit == RowUnit::patch ? " patches" : " tokens") + " (merge size " +
                       text(layout_.merge_size) + "), " + layout_.name + " has " +
                       text(layout_.rows) + " rows";
    if (unit == RowUnit::token && !grids.empty() &&
        in_rows(grids, RowUnit::patch).total() == layout_.rows) {
      what += ": one for each patch, so a stage from before the merger? Say which it is";
    }
    fail(what);
  }

  void check_same(const Claim& first, const Claim& other) const {
    if (first.rows.size() != other.rows.size()) {
      fail(other.name + " has " + text(std::ssize(other.rows)) + " items, " + first.name + " has " +
           text(std::ssize(first.rows)));
    }
    for (std::size_t i = 0; i < first.rows.size(); ++i) {
      if (first.rows[i] == other.rows[i]) continue;
      fail("item " + text(static_cast<std::int64_t>(i)) + " has " + text(first.rows[i]) +
           " rows by " + first.name + ", " + text(other.rows[i]) + " by " + other.name);
    }
  }

  const DumpSource& source_;
  const RowLayout& layout_;
  std::int64_t merge_;
};

}  // namespace

Boundaries find_boundaries(const DumpSource& source, const RowLayout& layout) {
  if (layout.merge_size < 1 || layout.merge_size > largest_merge) {
    source.fail(ErrorKind::out_of_range,
                "merge size " + text(layout.merge_size) + ", expected 1 to " + text(largest_merge));
  }
  return BoundaryReader(source, layout).read();
}

}  // namespace vtower
