// SPDX-License-Identifier: Apache-2.0
// The texts of the files of a C program.
#pragma once

#include <string>
#include <vector>

#include "halftone/export_c/program.h"
#include "halftone/ir/tensor.h"
#include "halftone/types/export_c.hpp"

namespace halftone::export_c {

/// What all files are made of.
struct FileContext {
  const Program& program;
  const std::string& name;  ///< of the program: "net"
  const v0::CExport& sizes;
};

std::string header_text(const FileContext& context);     ///< net.h
std::string source_text(const FileContext& context);     ///< net.c
std::string weights_header(const FileContext& context);  ///< net_weights.h
std::string weights_source(const FileContext& context);  ///< net_weights.c
std::string test_text(const FileContext& context);       ///< main.c
std::string cmake_text(const FileContext& context);      ///< CMakeLists.txt
std::string readme_text(const FileContext& context);     ///< README.md
/// test_vectors.h. @param outputs  of each run
std::string vectors_text(const FileContext& context,
                         const std::vector<std::vector<ir::Tensor>>& outputs);

/// An estimate of the code, compiled with -Os for Cortex-M: characters of kernels and of layers,
/// times the bytes that those of 15 networks took; within 30 %.
std::size_t code_bytes(const Program& program);

/// A text that a comment of C may contain, in one line of ASCII.
std::string in_comment(const std::string& text);
/// The name in upper case, for macros.
std::string upper(const std::string& name);

}  // namespace halftone::export_c
