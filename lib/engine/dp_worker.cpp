#include "engine/dp_worker.h"

#include <ATen/ops/empty.h>
#include <time.h>

#include <new>
#include <thread>

#include "core/digest.h"
#include "core/error.h"
#include "engine/encode_items.h"
#include "engine/torch_error.h"

namespace vtower {
namespace {

using Header = std::variant<ItemHeader, ItemFailure>;

// Some items of a source, with their headers as they were planned with.
class PartOfSource final : public ItemSource {
 public:
  PartOfSource(const ItemSource& all, std::vector<std::size_t> items,
               const std::vector<Header>& headers)
      : all_(all), items_(std::move(items)), headers_(headers) {}

  [[nodiscard]] std::size_t size() const override { return items_.size(); }
  [[nodiscard]] std::variant<ItemHeader, ItemFailure> header(std::size_t i) const override {
    return headers_[items_[i]];
  }
  [[nodiscard]] std::variant<LoadedItem, ItemFailure> load(std::size_t i) const override {
    return all_.load(items_[i]);
  }

 private:
  const ItemSource& all_;
  std::vector<std::size_t> items_;
  const std::vector<Header>& headers_;
};

DpPlan make_plan(const std::vector<Header>& headers, const DpWork& work,
                 const DpWorker::Options& options) {
  DpPlan plan;
  std::vector<GridThw> grids;
  std::vector<std::size_t> sound;
  for (std::size_t i = 0; i < headers.size(); ++i) {
    if (const auto* failure = std::get_if<ItemFailure>(&headers[i])) {
      plan.unsound.emplace_back(i, *failure);
    } else {
      grids.push_back(std::get<ItemHeader>(headers[i]).grid);
      sound.push_back(i);
    }
  }
  plan.assignment = assign_items(grids, options.world_size, options.balance, dp_cost(work.config));
  for (std::vector<std::size_t>& items : plan.assignment.items) {
    std::vector<GridThw> own;
    for (std::size_t& item : items) {
      own.push_back(grids[item]);
      item = sound[item];
    }
    BatchPlan batches = make_batch_plan(own, work.max_batch_rows);
    for (Batch& batch : batches.batches) {
      for (std::size_t& item : batch.items) item = items[item];
    }
    plan.batches.push_back(std::move(batches));
  }
  return plan;
}

// One text that differs where any header does.
std::string digest(const std::vector<Header>& headers) {
  Sha256 sum;
  const auto add = [&](const std::string& text) {
    const std::string line = std::to_string(text.size()) + ":" + text;
    sum.update({reinterpret_cast<const std::uint8_t*>(line.data()), line.size()});
  };
  for (const Header& entry : headers) {
    if (const auto* failure = std::get_if<ItemFailure>(&entry)) {
      add("failed " + failure->message);
      continue;
    }
    const auto& header = std::get<ItemHeader>(entry);
    add(std::string(to_string(header.kind)) + " " + std::to_string(header.grid.t) + " " +
        std::to_string(header.grid.h) + " " + std::to_string(header.grid.w));
  }
  return std::to_string(headers.size()) + " items, " + std::move(sum).hex().substr(0, 16);
}

// What a rank without items would have put out.
ItemEmbeddings empty_output(const DpWork& work) {
  const auto none = [&] {
    return at::empty({0, work.config.out_width},
                     at::TensorOptions(work.placement.scalar_type()).device(work.placement.device));
  };
  ItemEmbeddings output{{}, none(), {}};
  output.deepstack.assign(work.config.deepstack_blocks.size(), none());
  return output;
}

DpMessage failure_message(const std::exception_ptr& error) {
  DpMessage message;
  message.kind = DpMessage::Kind::failed;
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    message.error = known.kind();
    message.text = known.what();
  } catch (const std::bad_alloc&) {
    message.error = ErrorKind::memory;
    message.text = "out of memory";
  } catch (const c10::Error& torch) {
    message.text = torch.what_without_backtrace();
    message.error = kind_of(torch);
  } catch (const std::exception& other) {
    message.error = ErrorKind::device;
    message.text = other.what();
  }
  return message;
}

std::chrono::nanoseconds clock_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

void DpWorker::State::put(Event event) {
  const std::scoped_lock lock(mutex);
  ended = event.message.kind == DpMessage::Kind::finished ||
          event.message.kind == DpMessage::Kind::failed;
  events.push_back(std::move(event));
  ++count;
  changed.notify_one();
}

void DpWorker::State::run(const std::function<DpWork()>& prepare, const Options& options) {
  work = prepare();
  std::vector<Header> headers;
  for (std::size_t i = 0; i < work->source->size(); ++i) headers.push_back(work->source->header(i));
  plan = make_plan(headers, *work, options);

  DpMessage prepared;
  prepared.kind = DpMessage::Kind::prepared;
  prepared.statements = work->statements;
  prepared.statements.emplace_back("headers of the inputs", digest(headers));
  put({std::move(prepared), nullptr});

  DpMessage results;
  results.kind = DpMessage::Kind::results;
  results.form = OutputForm::of(empty_output(*work));
  put({results, nullptr});  // every rank states its form, with items or without

  const std::vector<std::size_t> own =
      plan->assignment.items[static_cast<std::size_t>(options.rank)];
  const PartOfSource part(*work->source, own, headers);
  EncodeOptions encode;
  encode.max_batch_rows = work->max_batch_rows;
  encode.decode_threads = work->decode_threads;
  encode.stages = work->stages;
  encode.on_result = [&](std::size_t item, ItemResult& result) {
    if (const auto* encoded = std::get_if<EncodedItem>(&result)) {
      results.form = OutputForm::of(encoded->embeddings);
    }
    results.results.emplace_back(own[item], std::move(result));
  };
  encode.on_progress = [&](const Progress&) {
    results.ledger = work->runner->ledger();
    put({results, nullptr});
    results.results.clear();
  };
  (void)encode_items(part, *work->runner, encode);
  put({DpMessage{}, nullptr});
}

DpWorker::DpWorker(std::function<DpWork()> prepare, const Options& options)
    : state_(std::make_shared<State>()),
      processor_(clock_of(CLOCK_PROCESS_CPUTIME_ID)),
      sampled_(std::chrono::steady_clock::now()) {
  std::thread([state = state_, prepare = std::move(prepare), options] {
    try {
      state->run(prepare, options);
    } catch (...) {
      const std::exception_ptr error = std::current_exception();
      state->put({failure_message(error), error});
    }
  }).detach();
}

std::optional<DpWorker::Event> DpWorker::next(std::chrono::milliseconds limit) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, limit, [&] { return !state_->events.empty(); });
  if (state_->events.empty()) return std::nullopt;
  Event event = std::move(state_->events.front());
  state_->events.pop_front();
  return event;
}

bool DpWorker::is_active() {
  // A large item may take longer than any patience: the processor's time tells work from waiting.
  const auto processor = clock_of(CLOCK_PROCESS_CPUTIME_ID) - clock_of(CLOCK_THREAD_CPUTIME_ID);
  const auto now = std::chrono::steady_clock::now();
  const bool busy = (processor - processor_) * 20 > now - sampled_;
  processor_ = processor;
  sampled_ = now;
  const std::scoped_lock lock(state_->mutex);
  const bool moved = state_->count != seen_;
  seen_ = state_->count;
  return busy || moved || state_->ended;
}

}  // namespace vtower
