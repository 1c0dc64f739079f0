// What ranks tell each other, as bytes: a header for the store and one tensor for the link.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/encode_items.h"

namespace vtower {

using IndexedResult = std::pair<std::size_t, ItemResult>;  // index into the request

// What a rank's outputs look like; an empty rank states it too. All ranks must have one.
struct OutputForm {
  std::string dtype;
  std::int64_t width = 0;
  std::int64_t levels = 0;  // deepstack
  std::string device;       // "cpu", "cuda": on the rank, before it is sent

  static OutputForm of(const ItemEmbeddings& item);
  [[nodiscard]] std::string text() const;
  friend bool operator==(const OutputForm&, const OutputForm&) = default;
};

// Facts of a run that must be the same on every rank: name and value.
using Statements = std::vector<std::pair<std::string, std::string>>;

struct DpMessage {
  enum class Kind { prepared, results, finished, failed };
  Kind kind = Kind::finished;

  Statements statements;               // prepared
  OutputForm form;                     // results
  std::vector<IndexedResult> results;  // results
  LedgerRecord ledger;                 // results: of all passes so far
  ErrorKind error = ErrorKind::peer;   // failed
  std::string text;                    // failed
};

// The tensor holds the rows of all results, without any padding between ranks or items beyond the
// alignment of their bytes; uint8 [n], on the device of the results. n = 0: there is none to send.
struct PackedMessage {
  std::string header;
  at::Tensor payload;
};

PackedMessage pack(const DpMessage& message);
// Bytes of the payload that belongs to a header.
std::int64_t payload_bytes(const std::string& header);
// `payload` is in host memory; results refer to it. Throws Error{peer} on a header that pack()
// did not write, or a payload of another size.
DpMessage unpack(const std::string& header, const at::Tensor& payload);

}  // namespace vtower
