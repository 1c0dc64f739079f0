#include "explain/explain.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.h"
#include "explain/distance.h"

namespace vtower::explain {
namespace {

// A candidate must explain at least this share of the mismatch.
constexpr double most_left_over = 0.5;


// Candidates whose residual is that close to the best one's cannot be told from it.
constexpr double told_apart = 1.25;

Placement wider(const Placement& placement) {
  if (placement.dtype == DType::f32) return {DType::f64, c10::kCPU};
  return {DType::f32, placement.device};
}

// Items that are run together, with what the faulty side made of them.
struct Subject {
  RawPatches batch;
  std::vector<ItemRows> rows;  // empty: this item is not compared
  std::vector<std::int64_t> tokens;
};

Subject subject_of(const Evidence& evidence, const std::vector<std::size_t>& items,
                   const std::vector<std::size_t>& compared) {
  std::vector<const RawPatches*> parts;
  for (const std::size_t item : items) parts.push_back(evidence.items[item]);
  Subject subject{RawPatches::concat(parts), {}, {}};
  for (const std::size_t item : items) {
    const bool wanted = std::find(compared.begin(), compared.end(), item) != compared.end();
    subject.rows.push_back(wanted ? evidence.rows[item] : ItemRows{});
    const RawPatches& patches = *evidence.items[item];
    subject.tokens.push_back(patches.grids().front().tokens(patches.layout().merge_size));
  }
  return subject;
}

// Faulty rows against planted tokens of the same batch.
Distance distance_of(const Subject& subject, const Tensors& planted, int threads) {
  Distance all;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < subject.rows.size(); ++i) {
    if (!subject.rows[i].empty()) {
      all = larger(all, distance(subject.rows[i], tokens_of(planted, first, subject.tokens[i]),
                                 threads));
    }
    first += subject.tokens[i];
  }
  return all;
}

std::vector<TokenRows> rows_of_all(const Tensors& tensors) {
  std::vector<TokenRows> rows;
  for (const at::Tensor& tensor : tensors) rows.push_back(rows_of(tensor));
  return rows;
}

// What a planted run in the side's dtype differs from the same fault in a wider type.
Distance floor_of(const Subject& subject, const Tensors& run, const Tensors& wide, int threads) {
  Distance all;
  std::int64_t first = 0;
  for (const std::int64_t count : subject.tokens) {
    all = larger(all, distance(rows_of_all(tokens_of(run, first, count)),
                               tokens_of(wide, first, count), threads));
    first += count;
  }
  return all;
}

// The faults of one subject, tried one after the other.
class Search {
 public:
  Search(const PlantedTower& run, const PlantedTower& wide, const ExplainOptions& options,
         const Subject& subject)
      : run_(run),
        wide_(wide),
        options_(options),
        subject_(subject),
        sound_run_(run.encode(subject.batch)),
        sound_wide_(wide.encode(subject.batch)),
        mismatch_(distance_of(subject, sound_wide_.tensors(), options.threads)) {}

  // Empty where the fault cannot be planted here. `fits` tells whether it explains the side.
  struct Tried {
    Candidate candidate;
    bool fits = false;
  };
  [[nodiscard]] std::optional<Tried> try_fault(const Fault& fault) const {
    try {
      const PlantedEmbeddings run = run_.encode(fault, subject_.batch, sound_run_);
      const Distance near = distance_of(subject_, run.tensors(), options_.threads);
      Tried tried{{fault.id, fault.variant, fault.sentence, near.worst, near.pooled, 0}, false};
      if (!(near.pooled <= 1.2 * most_left_over * mismatch_.pooled)) return tried;
      const PlantedEmbeddings wide = wide_.encode(fault, subject_.batch, sound_wide_);
      const Distance floor = floor_of(subject_, run.tensors(), wide.tensors(), options_.threads);
      const Distance left = distance_of(subject_, wide.tensors(), options_.threads);
      tried.candidate.residual = left.worst;
      tried.candidate.pooled = left.pooled;
      tried.candidate.limit = options_.k * floor.worst;
      tried.fits = left.worst <= tried.candidate.limit && left.pooled <= options_.k * floor.pooled &&
                   left.pooled <= most_left_over * mismatch_.pooled;
      return tried;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::out_of_range && error.kind() != ErrorKind::too_large) throw;
      return std::nullopt;
    }
  }

 private:
  const PlantedTower& run_;
  const PlantedTower& wide_;
  const ExplainOptions& options_;
  const Subject& subject_;
  PlantedEmbeddings sound_run_;
  PlantedEmbeddings sound_wide_;
  Distance mismatch_;
};

// One candidate of each id, the closest; only those that cannot be told from the best.
void settle(std::vector<Candidate> fits, std::vector<Candidate> others, Explanation& result) {
  const auto closer = [](const Candidate& a, const Candidate& b) { return a.pooled < b.pooled; };
  std::stable_sort(fits.begin(), fits.end(), closer);
  for (Candidate& fit : fits) {
    const bool named = std::any_of(result.fits.begin(), result.fits.end(),
                                   [&](const Candidate& taken) { return taken.id == fit.id; });
    if (named) continue;
    if (result.fits.empty() || fit.pooled <= told_apart * result.fits.front().pooled) {
      result.fits.push_back(std::move(fit));
    } else {
      others.push_back(std::move(fit));
    }
  }
  std::erase_if(others, [&](const Candidate& other) {
    return !(other.pooled >= 0) ||
           std::any_of(result.fits.begin(), result.fits.end(),
                       [&](const Candidate& fit) { return fit.id == other.id; });
  });
  const auto second = std::min_element(others.begin(), others.end(), closer);
  if (second != others.end()) result.runner_up = *second;
}

}  // namespace

Explainer::Explainer(const Checkpoint& checkpoint, const Placement& placement,
                     ExplainOptions options)
    : checkpoint_(checkpoint),
      options_(std::move(options)),
      run_(checkpoint, placement),
      wide_(checkpoint, wider(placement)) {}

Explanation Explainer::explain(const Evidence& evidence) const {
  // The worst item and another failing one; and the batch as it ran.
  constexpr std::size_t most_items = 2;
  std::vector<std::size_t> few = evidence.failing;
  few.resize(std::min(few.size(), most_items));
  std::vector<std::size_t> all(evidence.items.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;

  const Subject alone = subject_of(evidence, few, few);
  const Search on_items(run_, wide_, options_, alone);
  std::int64_t rows = 0;
  for (const RawPatches* item : evidence.items) rows += item->rows();
  const bool batch_fits = evidence.whole_batch && rows <= options_.most_batch_rows;
  std::optional<Subject> together;
  std::optional<Search> on_batch;

  Explanation result;
  std::vector<Candidate> fits;
  std::vector<Candidate> others;
  const auto begin = std::chrono::steady_clock::now();
  const auto try_all = [&](const std::vector<Fault>& faults, bool in_batch) {
    for (const Fault& fault : faults) {
      if (fault.needs_batch != in_batch) continue;
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      if (fault.rank == Fault::Rank::per_block && !fits.empty()) continue;
      if (spent.count() > options_.most_seconds) {
        result.not_tried.push_back("no time left: " + fault.name());
        continue;
      }
      const auto tried = (in_batch ? *on_batch : on_items).try_fault(fault);
      if (!tried) continue;
      (tried->fits ? fits : others).push_back(tried->candidate);
      if (options_.on_progress) options_.on_progress(++result.tried, 0);
    }
  };
  const VisionConfig& config = checkpoint_.vision();
  const NormConstants& norm = checkpoint_.preprocessor().norm;
  if (batch_fits) {
    together.emplace(subject_of(evidence, all, all));
    on_batch.emplace(run_, wide_, options_, *together);
    try_all(catalogue({config, norm, together->batch.grids()}), true);
  } else {
    result.not_tried.emplace_back("the batch is not known or too large: faults of a batch");
  }
  try_all(catalogue({config, norm, alone.batch.grids()}), false);
  std::vector<std::optional<MediaSource>> media;
  for (const std::size_t item : few) {
    media.push_back(item < evidence.media.size() ? evidence.media[item] : std::nullopt);
  }
  try_all(media_faults(media), false);
  settle(std::move(fits), std::move(others), result);
  return result;
}

}  // namespace vtower::explain
