#include "engine/dp_worker.h"

#include <ATen/ops/empty.h>
#include <time.h>

#include <new>
#include <thread>

#include "core/digest.h"
#include "core/error.h"
#include "engine/encode_items.h"
#include "engine/item_headers.h"
#include "engine/torch_error.h"

namespace vtower {
namespace {

DpPlan make_plan(const std::vector<HeaderResult>& headers, const DpWork& work,
                 const DpWorker::Options& options) {
  SortedHeaders sorted = sort_headers(headers);
  DpPlan plan;
  for (auto& [item, failure] : sorted.failed) plan.unsound.emplace_back(item, std::move(failure));
  plan.assignment =
      assign_items(sorted.grids, options.world_size, options.balance, dp_cost(work.config));
  for (std::vector<std::size_t>& items : plan.assignment.items) {
    plan.batches.push_back(plan_of(sorted, items, work.max_batch_rows));
    for (std::size_t& item : items) item = sorted.sound[item];
  }
  return plan;
}

// One text that differs where any header does.
std::string digest(const std::vector<HeaderResult>& headers) {
  Sha256 sum;
  const auto add = [&](const std::string& text) {
    const std::string line = std::to_string(text.size()) + ":" + text;
    sum.update({reinterpret_cast<const std::uint8_t*>(line.data()), line.size()});
  };
  for (const HeaderResult& entry : headers) {
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
  const std::vector<HeaderResult> headers = read_headers(*work->source);
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

  EncodeOptions encode;
  encode.decode_threads = work->decode_threads;
  encode.stages = work->stages;
  encode.on_result = [&](std::size_t item, ItemResult& result) {
    if (const auto* encoded = std::get_if<EncodedItem>(&result)) {
      results.form = OutputForm::of(encoded->embeddings);
    }
    results.results.emplace_back(item, std::move(result));
  };
  encode.on_progress = [&](const Progress&) {
    results.ledger = work->runner->ledger();
    put({results, nullptr});
    results.results.clear();
  };
  encode_batches(*work->source, plan->batches[static_cast<std::size_t>(options.rank)],
                 *work->runner, encode);
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
