#include "tower/linear.h"

#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>

#include "support/doctest.h"
#include "support/safetensors_tensor.h"
#include "tower/widened_linear.h"

using namespace vtower;

TEST_CASE("widened products are float32 products of the same operands, rounded once") {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    for (const std::int64_t rows : {1, 3, 1024, 1030}) {
      const at::Tensor x = at::randn({rows, 72}).to(type);
      const at::Tensor weight = at::randn({1027, 72}).to(type);
      const at::Tensor bias = at::randn({1027}).to(type);
      const at::Tensor exact =
          at::linear(x.to(at::kDouble), weight.to(at::kDouble), bias.to(at::kDouble));
      const double rounding = type == at::kBFloat16 ? 1.0 / 256 : 1.0 / 2048;
      const at::Tensor widened = widened_linear(x, weight, bias);
      CHECK((widened.scalar_type() == type));
      CHECK(test::relative_error(widened, exact) <= 0.6 * rounding);
      CHECK(test::relative_error(widened_linear(x, weight, at::Tensor()),
                                 at::linear(x.to(at::kDouble), weight.to(at::kDouble))) <=
            0.6 * rounding);
    }
  }
}
