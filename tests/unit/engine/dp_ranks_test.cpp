// Data parallel with ranks as processes that are killed, hang, run out of memory or take their
// time, each at an item of our choice. The test's own process never computes, so it may fork.
#include <ATen/Parallel.h>
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <new>
#include <optional>
#include <thread>

#include "engine/dp_encode.h"
#include "engine/graph_plan_runner.h"
#include "support/doctest.h"
#include "support/temp_dir.h"
#include "support/towers.h"

using namespace vtower;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

enum class Fault { none, item_fails, killed, hangs, out_of_memory, takes_its_time };

struct Scenario {
  std::string family = "qwen3_vl";
  int ranks = 3;
  std::size_t items = 9;
  Fault fault = Fault::none;
  std::size_t at_item = 0;
  std::chrono::milliseconds timeout = 60s;
  std::int64_t max_batch_rows = 1;     // each item alone
  std::optional<int> bf16_rank;        // whose tower has another dtype
  std::optional<int> other_list_rank;  // whose statements differ
  bool graph_plan = false;
};

struct Outcome {
  std::map<int, int> status;  // of waitpid
  nlohmann::json told;        // by rank 0
  double seconds = 0;
};

std::vector<GridThw> grids_of(const Scenario& scenario) {
  return std::vector<GridThw>(scenario.items, GridThw{1, 8, 6});
}

RawPatches patches_of(const PatchLayout& layout, std::size_t item, const GridThw& grid) {
  return test::noise_patches(layout, {grid}, static_cast<std::uint32_t>(item + 1));
}

class Source final : public ItemSource {
 public:
  Source(const Scenario& scenario, const PatchLayout& layout)
      : scenario_(scenario), layout_(layout), grids_(grids_of(scenario)) {}

  [[nodiscard]] std::size_t size() const override { return grids_.size(); }
  [[nodiscard]] std::variant<ItemHeader, ItemFailure> header(std::size_t i) const override {
    return ItemHeader{ItemKind::raw, grids_[i]};
  }
  [[nodiscard]] std::variant<LoadedItem, ItemFailure> load(std::size_t i) const override {
    if (i == scenario_.at_item && scenario_.fault == Fault::item_fails) {
      return ItemFailure{name(i), ErrorKind::truncated, "cut"};
    }
    if (i == scenario_.at_item && scenario_.fault != Fault::none) go_wrong();
    ItemRecord record;
    record.kind = ItemKind::raw;
    record.path = name(i);
    return LoadedItem{patches_of(layout_, i, grids_[i]), std::move(record)};
  }
  [[nodiscard]] static std::string name(std::size_t i) { return "item " + std::to_string(i); }

 private:
  void go_wrong() const {
    // items are loaded ahead: those before are run and sent by then
    std::this_thread::sleep_for(700ms);
    const auto until = Clock::now() + 3 * scenario_.timeout;
    switch (scenario_.fault) {
      case Fault::killed: ::raise(SIGKILL); break;
      case Fault::out_of_memory: throw std::bad_alloc();
      case Fault::hangs:
        while (true) ::pause();
      case Fault::takes_its_time:
        while (Clock::now() < until) continue;
        break;
      default: break;
    }
  }

  const Scenario& scenario_;
  PatchLayout layout_;
  std::vector<GridThw> grids_;
};

DpWork work_of(const Scenario& scenario, int rank) {
  at::set_num_threads(1);
  Placement placement;
  if (scenario.bf16_rank == rank) placement.dtype = DType::bf16;
  const auto tower = std::make_shared<VisionTower>(test::tiny_tower(scenario.family, placement));
  DpWork work;
  work.config = tower->config();
  work.placement = placement;
  work.max_batch_rows = scenario.max_batch_rows;
  work.source = std::make_shared<Source>(scenario, work.config.layout);
  for (std::size_t i = 0; i < scenario.items; ++i) work.paths.push_back(Source::name(i));
  std::shared_ptr<Runner> runner = std::make_shared<EagerRunner>(*tower);
  if (scenario.graph_plan) {
    runner = std::make_shared<GraphPlanRunner>(*tower, BudgetLadder({64, 256}, 4), Poison::on);
  }
  work.runner = {runner.get(), [tower, runner](Runner*) {}};
  work.statements = {{"lists of inputs", scenario.other_list_rank == rank ? "b" : "a"}};
  return work;
}

nlohmann::json summary(const Scenario& scenario, const DpResult& result) {
  const VisionTower tower = test::tiny_tower(scenario.family);
  EagerRunner eager(tower);
  nlohmann::json items = nlohmann::json::array();
  for (std::size_t i = 0; i < result.items.size(); ++i) {
    if (const auto* failure = std::get_if<ItemFailure>(&result.items[i])) {
      items.push_back({{"path", failure->path},
                       {"kind", std::string(to_string(failure->kind))},
                       {"message", failure->message}});
      continue;
    }
    const auto& item = std::get<EncodedItem>(result.items[i]);
    const auto alone =
        eager.run(patches_of(tower.config().layout, i, item.embeddings.grid), StageTrace());
    items.push_back({{"path", item.record.path},
                     {"kind", "done"},
                     {"same_bits", test::same_bits({item.embeddings}, alone)},
                     {"error", test::largest_error({item.embeddings}, alone)}});
  }
  nlohmann::json lost = nlohmann::json::array();
  for (const DpLoss& loss : result.lost) {
    lost.push_back({{"rank", loss.rank},
                    {"kind", std::string(to_string(loss.kind))},
                    {"message", loss.message}});
  }
  return {{"items", items}, {"lost", lost}};
}

// Exit code of the rank: 0, or 10 with the error where rank 0 has one, 20 for others.
int run_rank(const Scenario& scenario, int rank, std::uint16_t port,
             const std::filesystem::path& report) {
  const auto tell = [&](const nlohmann::json& json) { std::ofstream(report) << json; };
  try {
    DpGroup group(
        {rank, scenario.ranks},
        DpStore({"127.0.0.1", port, rank == 0 ? DpStoreRole::server : DpStoreRole::client, "test/"},
                scenario.timeout),
        nullptr);
    if (const auto code = group.meet({"here", "1", c10::kCPU, GpuSharing::refused, {}}))
      return *code;
    group.connect();
    const auto prepare = [&scenario, rank] { return work_of(scenario, rank); };
    if (rank > 0) return dp_follow(group, prepare, {});
    try {
      tell(summary(scenario, dp_lead(group, prepare, {})));
      group.finish(0);
      return 0;
    } catch (const Error& error) {
      tell({{"error", std::string(to_string(error.kind()))}, {"message", error.what()}});
      group.finish(10);
      return 10;
    }
  } catch (const Error& error) {
    if (rank == 0)
      tell({{"error", std::string(to_string(error.kind()))}, {"message", error.what()}});
    return 20;
  }
}

std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address), length) == 0);
  REQUIRE(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  ::close(socket);
  return ntohs(address.sin_port);
}

Outcome run(const Scenario& scenario) {
  const test::TempDir folder;
  const std::filesystem::path report = folder.path() / "report.json";
  const std::uint16_t port = free_port();
  std::map<pid_t, int> ranks;
  const auto begin = Clock::now();
  for (int rank = 0; rank < scenario.ranks; ++rank) {
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      ::alarm(120);
      ::_exit(run_rank(scenario, rank, port, report));
    }
    ranks[pid] = rank;
  }
  Outcome outcome;
  for (const auto& [pid, rank] : ranks) ::waitpid(pid, &outcome.status[rank], 0);
  outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::ifstream file(report);
  REQUIRE(file);
  outcome.told = nlohmann::json::parse(file);
  return outcome;
}

void check_all_ended(const Outcome& outcome, int code, std::optional<int> killed = std::nullopt) {
  for (const auto& [rank, status] : outcome.status) {
    CAPTURE(rank);
    if (killed == rank) {
      CHECK(WIFSIGNALED(status));
    } else {
      CHECK(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == code);
    }
  }
}

// Equal items go round: rank r has items r, r + ranks, ...
std::size_t item_of(const Scenario& scenario, int rank, std::size_t k) {
  return static_cast<std::size_t>(rank) + k * static_cast<std::size_t>(scenario.ranks);
}

// What every loss at the third item of a rank leaves: all else is done, and right.
void check_kept(const Scenario& scenario, const Outcome& outcome, int lost_rank,
                const std::string& how) {
  const nlohmann::json& items = outcome.told.at("items");
  REQUIRE(items.size() == scenario.items);
  for (std::size_t i = 0; i < items.size(); ++i) {
    CAPTURE(i);
    CHECK(items[i].at("path") == Source::name(i));
    if (i == scenario.at_item) {
      CHECK(items[i].at("kind") == "peer");
      const auto message = items[i].at("message").get<std::string>();
      CHECK(message.find("rank " + std::to_string(lost_rank) + " ") != std::string::npos);
    } else {
      CHECK(items[i].at("kind") == "done");
      CHECK(items[i].at("same_bits") == true);
    }
  }
  const nlohmann::json& lost = outcome.told.at("lost");
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].at("rank") == lost_rank);
  CHECK(lost[0].at("message").get<std::string>().find(how) != std::string::npos);
}

Scenario third_item_of(int rank, Fault fault, std::chrono::milliseconds timeout) {
  Scenario scenario;
  scenario.fault = fault;
  scenario.at_item = item_of(scenario, rank, 2);
  scenario.timeout = timeout;
  return scenario;
}

}  // namespace

TEST_CASE("any number of ranks has the bits of eager") {
  for (const std::string& family : test::families) {
    for (const int ranks : {1, 2, 5, 11}) {
      Scenario scenario;
      scenario.family = family;
      scenario.ranks = ranks;
      const Outcome outcome = run(scenario);
      check_all_ended(outcome, 0);
      CHECK(outcome.told.at("lost").empty());
      const nlohmann::json& items = outcome.told.at("items");
      REQUIRE(items.size() == scenario.items);
      for (const nlohmann::json& item : items) {
        CHECK(item.at("kind") == "done");
        CHECK(item.at("same_bits") == true);
      }
    }
  }
}

TEST_CASE("packed batches and any runner agree with eager") {
  for (const bool graph_plan : {false, true}) {
    Scenario scenario;
    scenario.graph_plan = graph_plan;
    scenario.max_batch_rows = 200;
    const Outcome outcome = run(scenario);
    check_all_ended(outcome, 0);
    const nlohmann::json& items = outcome.told.at("items");
    for (const nlohmann::json& item : items) CHECK(item.at("error").get<double>() <= 1e-5);
  }
}

TEST_CASE("no items at all") {
  Scenario scenario;
  scenario.items = 0;
  const Outcome outcome = run(scenario);
  check_all_ended(outcome, 0);
  CHECK(outcome.told.at("items").empty());
  CHECK(outcome.told.at("lost").empty());
}

TEST_CASE("R81: a failing item fails alone, and nobody waits for it") {
  const Scenario scenario = third_item_of(2, Fault::item_fails, 60s);
  const Outcome outcome = run(scenario);
  check_all_ended(outcome, 0);
  CHECK(outcome.seconds < 30);
  CHECK(outcome.told.at("lost").empty());
  const nlohmann::json& items = outcome.told.at("items");
  for (std::size_t i = 0; i < items.size(); ++i) {
    CHECK(items[i].at("kind") == (i == scenario.at_item ? "truncated" : "done"));
  }
}

TEST_CASE("a rank that is killed in the middle") {
  const Scenario scenario = third_item_of(1, Fault::killed, 4s);
  const Outcome outcome = run(scenario);
  check_all_ended(outcome, 0, 1);
  check_kept(scenario, outcome, 1, "no sign of life for 4 s");
  CHECK(outcome.seconds < 4 + 8);
}

TEST_CASE("a rank that hangs is given up, and ends when it is told") {
  const Scenario scenario = third_item_of(1, Fault::hangs, 3s);
  const Outcome outcome = run(scenario);
  check_all_ended(outcome, 0);
  check_kept(scenario, outcome, 1, "no sign of life for 3 s");
  CHECK(outcome.seconds > 3);
  CHECK(outcome.seconds < 3 + 8);
}

TEST_CASE("rank 0 gives up itself where its own work hangs") {
  const Scenario scenario = third_item_of(0, Fault::hangs, 3s);
  const Outcome outcome = run(scenario);
  check_all_ended(outcome, 0);
  check_kept(scenario, outcome, 0, "no sign of life for 3 s");
}

TEST_CASE("R81: a rank out of memory says so at once; all other rows are there") {
  for (const int rank : {0, 2}) {
    const Scenario scenario = third_item_of(rank, Fault::out_of_memory, 60s);
    const Outcome outcome = run(scenario);
    check_all_ended(outcome, 0);
    check_kept(scenario, outcome, rank, "out of memory");
    CHECK(outcome.told.at("lost")[0].at("kind") == "memory");
    CHECK(outcome.seconds < 30);
  }
}

TEST_CASE("a rank that works for longer than the timeout is not lost") {
  const Scenario scenario = third_item_of(1, Fault::takes_its_time, 5s);
  const Outcome outcome = run(scenario);
  check_all_ended(outcome, 0);
  CHECK(outcome.seconds > 15);
  CHECK(outcome.told.at("lost").empty());
  const nlohmann::json& items = outcome.told.at("items");
  for (const nlohmann::json& item : items) CHECK(item.at("same_bits") == true);
}

TEST_CASE("R84, R86: ranks that are not alike are refused, by name") {
  Scenario scenario;
  SUBCASE("another dtype, though the rank has nothing to do") {
    scenario.items = 1;
    scenario.bf16_rank = 2;
  }
  SUBCASE("other inputs") {
    scenario.other_list_rank = 2;
  }
  const Outcome outcome = run(scenario);
  check_all_ended(outcome, 10);
  CHECK(outcome.told.at("error") == "mode_unavailable");
  CHECK(outcome.told.at("message").get<std::string>().find("rank 2 ") != std::string::npos);
}

TEST_CASE("values of any size pass through the store") {
  DpStore store({"127.0.0.1", 0, DpStoreRole::server, "a/"}, 10s);
  CHECK(store.port() != 0);
  DpStore other({"127.0.0.1", store.port(), DpStoreRole::client, "a/"}, 10s);
  DpStore elsewhere({"127.0.0.1", store.port(), DpStoreRole::client, "b/"}, 10s);
  for (const std::size_t size : {0UL, 1UL, 4UL << 20, (8UL << 20) + 1, 20UL << 20}) {
    std::string value(size, '\0');
    for (std::size_t i = 0; i < size; ++i) value[i] = static_cast<char>(i * 31 >> 3);
    store.set("key", value);
    // c10d does not wait for the server when it sets
    const auto until = Clock::now() + 10s;
    while (!other.find("key") && Clock::now() < until) continue;
    CHECK(other.find("key").value() == value);
    CHECK_FALSE(elsewhere.find("key"));
    CHECK(other.take("key").value() == value);
    CHECK_FALSE(store.find("key"));
  }
  CHECK(store.add("count", 2) == 2);
  CHECK(other.add("count", 3) == 5);
}

TEST_CASE("a busy port is a mode that cannot run; a store that is not there is a lost peer") {
  const DpStore store({"127.0.0.1", 0, DpStoreRole::server, "a/"}, 10s);
  const auto kind_of = [&](DpStoreRole role, std::uint16_t port) {
    try {
      const DpStore second({"127.0.0.1", port, role, "a/"}, 1s);
    } catch (const Error& error) {
      return std::optional(error.kind());
    }
    return std::optional<ErrorKind>();
  };
  CHECK(kind_of(DpStoreRole::server, store.port()) == ErrorKind::mode_unavailable);
  CHECK(kind_of(DpStoreRole::client, store.port()) == std::nullopt);
  CHECK(kind_of(DpStoreRole::client, free_port()) == ErrorKind::peer);
}

TEST_CASE("two ranks on one GPU are refused unless asked for") {
  // Two introductions by hand: this machine need not have the GPU.
  const auto meet = [](bool shares) {
    DpStore store({"127.0.0.1", 0, DpStoreRole::server, "a/"}, 10s);
    DpStore other({"127.0.0.1", store.port(), DpStoreRole::client, "a/"}, 10s);
    for (const int rank : {1, 2}) {
      std::string hello;
      nlohmann::json::to_msgpack({{"host", "h"},
                                  {"version", "1"},
                                  {"device", "cpu"},
                                  {"identity", "GPU-7"},
                                  {"target", "127.0.0.1"},
                                  {"shares", shares},
                                  {"refusal", 0},
                                  {"why", ""}},
                                 hello);
      other.set("hello/" + std::to_string(rank), hello);
    }
    DpGroup group({0, 3}, std::move(store), nullptr);
    (void)group.meet({"h", "1", c10::kCPU, GpuSharing::refused, {}});
  };
  CHECK_NOTHROW(meet(true));
  try {
    meet(false);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::mode_unavailable);
    CHECK(error.message().find("ranks 1 and 2 of 3") != std::string::npos);
    CHECK(error.message().find("--share-gpu") != std::string::npos);
  }
}
