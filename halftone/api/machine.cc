// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/machine.h"

#include "halftone/base/parallel.h"

namespace halftone {

std::size_t Machine::rank() const {
  return session_.transport() == nullptr ? 0 : session_.transport()->rank();
}

std::shared_ptr<spmd::Transport> Machine::ranks() const {
  const auto& transport = session_.transport();
  return transport == nullptr || transport->num_ranks() == 1 ? nullptr : transport;
}

spmd::Devices Machine::devices(int count) const {
  const auto each = static_cast<std::size_t>(count == 0 ? num_threads() : count);
  if (session_.transport() == nullptr) return spmd::Devices::emulate(each);
  return spmd::Devices::over(session_.transport(), each);
}

}  // namespace halftone
