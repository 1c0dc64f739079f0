// The known ways round the tower's normalisation, none of which may compile. Each refusal stands
// beside the nearest call that must compile, so that a slip in a probe cannot pass for a refusal.
#include <array>
#include <concepts>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/doctest.h"
#include "tower/vision_tower.h"

using namespace vtower;

namespace {

// Outside of a template an ill-formed requirement is an error instead of `false`.
template <typename T, typename... Arguments>
concept MadeFrom = requires(Arguments&&... arguments) {
  T(std::forward<Arguments>(arguments)...);
};
template <typename T>
concept DefaultMade = requires {
  T();
};
template <typename Function, typename... Arguments>
concept CalledWith = std::invocable<Function, Arguments...>;
template <typename T>
concept BytesReadWithoutKey = requires(const T& patches) {
  patches.bytes();
};
template <typename T, typename Key>
concept BytesReadWith = requires(const T& patches, Key key) {
  patches.bytes(key);
};
template <typename T>
concept ValuesRead = requires(const T& patches) {
  patches.values_;
};
template <typename T>
concept PixelsHidden = !requires(const T& inputs) {
  inputs.pixels_;
}
&&!requires(const T& inputs) {
  inputs.device_;
};
template <typename T, typename Pixels>
concept Encodes = requires(const T& tower, Pixels&& pixels, const SeqPlan& plan) {
  tower.encode(std::forward<Pixels>(pixels), plan);
};
template <typename T>
concept BodyReached = requires(const T& tower) {
  tower.body_;
};
template <typename T>
concept EmbedReached = requires(const T& tower) {
  tower.patch_embed_;
};
template <typename T, typename X>
concept BodyTakes = requires(const T& body, X&& x, const PlanTensors& plan, const StageTrace& t) {
  body.forward(std::forward<X>(x), plan, t);
};

using Triple = std::array<double, 3>;

}  // namespace

TEST_CASE("1: raw rows cannot be made from floating point values") {
  using FromBytes = RawPatches (*)(ByteBuffer, std::vector<GridThw>, const PatchLayout&);
  static_assert(std::convertible_to<decltype(&RawPatches::from_rows), FromBytes>);
  static_assert(
      !std::invocable<FromBytes, std::vector<float>, std::vector<GridThw>, const PatchLayout&>);
  static_assert(!MadeFrom<RawPatches, std::vector<float>>);
  static_assert(!MadeFrom<RawPatches, at::Tensor>);
}

TEST_CASE("2: there are no empty raw rows to fill by hand") {
  static_assert(!DefaultMade<RawPatches>);
  static_assert(MadeFrom<RawPatches, RawPatches>);
}

TEST_CASE("3: the bytes cannot be read without the key") {
  static_assert(!BytesReadWithoutKey<RawPatches>);
  static_assert(BytesReadWith<RawPatches, RawBytesKey>);
}

TEST_CASE("4: nobody else can make the key") {
  static_assert(!DefaultMade<RawBytesKey>);
}

TEST_CASE("5: there is no default norm") {
  static_assert(!DefaultMade<InputNorm>);
  static_assert(MadeFrom<InputNorm, const NormConstants&, Placement>);
}

TEST_CASE("6: a norm is not made of numbers in the code") {
  static_assert(!MadeFrom<InputNorm, Triple, Triple, double, Placement>);
  static_assert(!MadeFrom<InputNorm, Triple, Triple, Placement>);
}

TEST_CASE("7: constants come out of the checkpoint's files alone, identity included") {
  static_assert(!MadeFrom<NormConstants, Triple, Triple, double>);
  static_assert(!DefaultMade<NormConstants>);
  static_assert(std::copy_constructible<NormConstants>);
}

TEST_CASE("8: normalised pixels cannot be made outside of the norm") {
  static_assert(!DefaultMade<NormalizedPatches>);
  static_assert(!MadeFrom<NormalizedPatches, at::Tensor>);
  static_assert(!MadeFrom<NormalizedPatches, RawPatches>);
}

TEST_CASE("9: normalised pixels cannot be kept and used twice") {
  static_assert(!std::copy_constructible<NormalizedPatches>);
  static_assert(!std::is_copy_assignable_v<NormalizedPatches>);
  static_assert(std::move_constructible<NormalizedPatches>);
  static_assert(!CalledWith<PatchEmbed, NormalizedPatches&, StageTrace>);
}

TEST_CASE("10: normalised pixels cannot be normalised again") {
  static_assert(CalledWith<InputNorm, const RawPatches&, StageTrace>);
  static_assert(!CalledWith<InputNorm, NormalizedPatches, StageTrace>);
  static_assert(!CalledWith<InputNorm, at::Tensor, StageTrace>);
}

TEST_CASE("11: the tower takes raw rows and nothing else") {
  static_assert(Encodes<VisionTower, const RawPatches&>);
  static_assert(PixelsHidden<StagedInputs>);
  static_assert(!Encodes<VisionTower, NormalizedPatches>);
  static_assert(!Encodes<VisionTower, at::Tensor>);
}

TEST_CASE("12: the patch embedding takes normalised pixels and nothing else") {
  static_assert(CalledWith<PatchEmbed, NormalizedPatches, StageTrace>);
  static_assert(!CalledWith<PatchEmbed, RawPatches, StageTrace>);
  static_assert(!CalledWith<PatchEmbed, at::Tensor, StageTrace>);
}

TEST_CASE("13: what lies behind the door cannot be reached past it") {
  static_assert(!BodyReached<VisionTower>);
  static_assert(!EmbedReached<VisionTower>);
  static_assert(!ValuesRead<NormalizedPatches>);
  static_assert(BodyTakes<TowerBody, at::Tensor>);
  static_assert(!BodyTakes<TowerBody, RawPatches>);
  static_assert(!BodyTakes<TowerBody, NormalizedPatches>);
}
