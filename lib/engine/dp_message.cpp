#include "engine/dp_message.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "engine/record_json.h"

namespace vtower {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t alignment = 16;

// Rows laid one after the other as bytes, each tensor at a multiple of `alignment`.
class PayloadWriter {
 public:
  Json add(const at::Tensor& values) {
    const at::Tensor flat = values.contiguous().view({-1}).view(at::kByte);
    const Json entry{{"shape", values.sizes().vec()},
                     {"type", static_cast<int>(values.scalar_type())},
                     {"first", size_}};
    append(flat);
    const std::int64_t over = flat.size(0) % alignment;
    if (over != 0) append(at::zeros({alignment - over}, flat.options()));
    return entry;
  }
  [[nodiscard]] at::Tensor finish() const {
    return parts_.empty() ? at::empty({0}, at::kByte) : at::cat(parts_);
  }

 private:
  void append(const at::Tensor& bytes) {
    if (bytes.size(0) == 0) return;
    parts_.push_back(bytes);
    size_ += bytes.size(0);
  }
  std::vector<at::Tensor> parts_;
  std::int64_t size_ = 0;
};

at::Tensor tensor_of(const Json& entry, const at::Tensor& payload) {
  const auto type = static_cast<c10::ScalarType>(entry.at("type").get<int>());
  const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
  auto bytes = static_cast<std::int64_t>(c10::elementSize(type));
  for (const std::int64_t side : shape) bytes *= side;
  if (bytes == 0) return at::empty(shape, type);
  return payload.narrow(0, entry.at("first").get<std::int64_t>(), bytes).view(type).view(shape);
}

Json result_json(const IndexedResult& indexed, PayloadWriter& payload) {
  const auto& [index, result] = indexed;
  if (const auto* failure = std::get_if<ItemFailure>(&result)) {
    return {{"index", index},
            {"path", failure->path},
            {"error", static_cast<int>(failure->kind)},
            {"message", failure->message}};
  }
  const auto& item = std::get<EncodedItem>(result);
  const ItemEmbeddings& values = item.embeddings;
  Json levels = Json::array();
  Json stages = Json::object();
  Json embeddings = payload.add(values.embeddings);
  for (const at::Tensor& level : values.deepstack) levels.push_back(payload.add(level));
  for (const auto& [stage, rows] : item.stages) stages[stage] = payload.add(rows);
  return {{"index", index},
          {"grid", {values.grid.t, values.grid.h, values.grid.w}},
          {"record", item_json(item.record)},
          {"embeddings", std::move(embeddings)},
          {"deepstack", std::move(levels)},
          {"stages", std::move(stages)}};
}

IndexedResult result_of(const Json& json, const at::Tensor& payload) {
  const auto index = json.at("index").get<std::size_t>();
  if (json.contains("error")) {
    return {index, ItemFailure{json.at("path").get<std::string>(),
                               static_cast<ErrorKind>(json.at("error").get<int>()),
                               json.at("message").get<std::string>()}};
  }
  EncodedItem item;
  const Json& grid = json.at("grid");
  item.embeddings.grid = {grid.at(0).get<std::int64_t>(), grid.at(1).get<std::int64_t>(),
                          grid.at(2).get<std::int64_t>()};
  item.embeddings.embeddings = tensor_of(json.at("embeddings"), payload);
  for (const Json& level : json.at("deepstack")) {
    item.embeddings.deepstack.push_back(tensor_of(level, payload));
  }
  const Json& stages = json.at("stages");
  for (const auto& [stage, rows] : stages.items()) item.stages[stage] = tensor_of(rows, payload);
  item.record = item_record_of(json.at("record"));
  return {index, std::move(item)};
}

// MessagePack, since paths need not be UTF-8.
Json parsed(const std::string& header) {
  return Json::from_msgpack(header);
}

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::peer, "dp", "a message of another rank cannot be read: " + why);
}

}  // namespace

OutputForm OutputForm::of(const ItemEmbeddings& item) {
  return {c10::toString(item.embeddings.scalar_type()), item.embeddings.size(1),
          static_cast<std::int64_t>(item.deepstack.size()),
          item.embeddings.is_cpu() ? "cpu" : "cuda"};
}

std::string OutputForm::text() const {
  return dtype + " of width " + std::to_string(width) + " and " + std::to_string(levels) +
         " deepstack levels on " + device;
}

PackedMessage pack(const DpMessage& message) {
  PayloadWriter payload;
  Json results = Json::array();
  for (const IndexedResult& result : message.results) {
    results.push_back(result_json(result, payload));
  }
  at::Tensor bytes = payload.finish();
  const Json header{
      {"kind", static_cast<int>(message.kind)},
      {"statements", message.statements},
      {"form", {message.form.dtype, message.form.width, message.form.levels, message.form.device}},
      {"results", std::move(results)},
      {"ledger", ledger_json(message.ledger)},
      {"error", static_cast<int>(message.error)},
      {"text", message.text},
      {"bytes", bytes.size(0)}};
  PackedMessage packed{{}, std::move(bytes)};
  Json::to_msgpack(header, packed.header);
  return packed;
}

std::int64_t payload_bytes(const std::string& header) {
  try {
    return parsed(header).at("bytes").get<std::int64_t>();
  } catch (const Json::exception& error) {
    refuse(error.what());
  }
}

DpMessage unpack(const std::string& header, const at::Tensor& payload) {
  try {
    const Json json = parsed(header);
    if (json.at("bytes").get<std::int64_t>() != payload.size(0)) refuse("its payload is cut");
    DpMessage message;
    message.kind = static_cast<DpMessage::Kind>(json.at("kind").get<int>());
    message.statements = json.at("statements").get<Statements>();
    const Json& form = json.at("form");
    message.form = {form.at(0).get<std::string>(), form.at(1).get<std::int64_t>(),
                    form.at(2).get<std::int64_t>(), form.at(3).get<std::string>()};
    for (const Json& result : json.at("results")) {
      message.results.push_back(result_of(result, payload));
    }
    message.ledger = ledger_record_of(json.at("ledger"));
    message.error = static_cast<ErrorKind>(json.at("error").get<int>());
    message.text = json.at("text").get<std::string>();
    return message;
  } catch (const Json::exception& error) {
    refuse(error.what());
  } catch (const c10::Error& error) {
    refuse(error.what_without_backtrace());
  }
}

}  // namespace vtower
