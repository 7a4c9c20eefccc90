// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/write_layers.h"

namespace halftone::export_c {

LayerFunction write_layer(const NodeToWrite& what, const std::string& prefix, std::size_t index) {
  for (const auto write : {write_integer_layer, write_pool, write_pair, write_function, write_move,
                           write_encode, write_code_layer, write_choice, write_float,
                           write_statistic, write_picks, write_products, write_recurrent}) {
    Scope scope(what, prefix, index);
    if (write(scope)) return scope.take();
  }
  Scope(what, prefix, index)
      .refuse("it; quantize the network, or compute the operator before or behind the C program");
}

}  // namespace halftone::export_c
