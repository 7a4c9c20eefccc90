// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/nvrtc.h"

#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/gpu/cuda_api.h"

namespace halftone::gpu {
namespace {

/// A program of NVRTC.
class Compilation {
 public:
  explicit Compilation(const std::string& text) {
    check(cuda::compiler().new_program(&program_, text.c_str(), "halftone.cu", 0, nullptr, nullptr),
          "program");
  }
  ~Compilation() { cuda::compiler().free_program(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  void compile(const std::string& target) {
    const std::string arch = "--gpu-architecture=" + target;
    const char* options[] = {arch.c_str(),        "--fmad=false",     "--ftz=false",
                             "--prec-div=true",   "--prec-sqrt=true", "--std=c++17",
                             "--disable-warnings"};
    if (cuda::compiler().compile(program_, std::size(options), options) != 0) {
      fail(ErrorKind::kDevice, "CUDA C++ for " + target + ": " + log());
    }
  }

  std::vector<std::byte> binary() {
    std::size_t bytes = 0;
    check(cuda::compiler().binary_size(program_, &bytes), "size");
    std::vector<std::byte> found(bytes);
    check(cuda::compiler().binary(program_, reinterpret_cast<char*>(found.data())), "binary");
    return found;
  }

 private:
  static void check(cuda::Status status, const char* what) {
    if (status == 0) return;
    fail(ErrorKind::kDevice, std::string("NVRTC: ") + what + ": error " + std::to_string(status));
  }
  /// The start of what the compiler says, in one line.
  std::string log() {
    constexpr std::size_t kMaxLog = 500;
    std::size_t bytes = 0;
    check(cuda::compiler().log_size(program_, &bytes), "log");
    std::string text(bytes, '\0');
    check(cuda::compiler().log(program_, text.data()), "log");
    std::ranges::replace(text, '\n', ' ');
    text.resize(std::min(std::min(text.find('\0'), text.size()), kMaxLog));
    return text;
  }

  cuda::CompilerProgram* program_ = nullptr;
};

}  // namespace

bool has_nvrtc() { return cuda::compiler().is_usable(); }

std::string nvrtc_version() {
  int major = 0;
  int minor = 0;
  cuda::compiler().version(&major, &minor);
  return "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
}

std::vector<std::byte> compile_cuda(const std::string& text, const std::string& target) {
  if (!has_nvrtc()) {
    fail(ErrorKind::kDevice, "libnvrtc.so is not installed: it is part of the CUDA toolkit");
  }
  Compilation compilation(text);
  compilation.compile(target);
  return compilation.binary();
}

}  // namespace halftone::gpu
