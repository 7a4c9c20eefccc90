// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <system_error>

#include "halftone/base/error.h"
#include "python/src/bind.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

PyObject* exception_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
    case ErrorKind::kFormat:
    case ErrorKind::kShape:
      return PyExc_ValueError;
    case ErrorKind::kIo:
      return PyExc_OSError;
    case ErrorKind::kUnsupported:
      return PyExc_NotImplementedError;
    case ErrorKind::kMemory:
      return PyExc_MemoryError;
    case ErrorKind::kInterrupted:
      return PyExc_KeyboardInterrupt;
    case ErrorKind::kDevice:
    case ErrorKind::kInternal:
      break;
  }
  return PyExc_RuntimeError;
}

/// The argument that changes the setting; empty if there is none.
std::string_view argument_of(Hint hint) {
  switch (hint) {
    case Hint::kBatch:
      return "batch=";
    case Hint::kRecipe:
      return "recipe=";
    case Hint::kReference:
      return "reference=";
    case Hint::kScale:
      return "scale=";
    case Hint::kContext:
      return "context=";
    case Hint::kTemplate:
      return "template=";
    case Hint::kTokenizer:
      return "tokenizer=";
    case Hint::kIterations:
      return "max_iterations=";
    case Hint::kNone:
    case Hint::kInputs:
    case Hint::kCheckpoint:
    case Hint::kResume:
      break;
  }
  return "";
}

/// File names in messages may be no UTF-8.
void set_error(PyObject* type, const std::string& message) {
  PyObject* text =
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace");
  if (text == nullptr) return;
  PyErr_SetObject(type, text);
  Py_DECREF(text);
}

void translate(const std::exception_ptr& exception, void* /*unused*/) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    std::string message = error.what();
    const std::string_view argument = argument_of(error.hint());
    if (!argument.empty()) message.append(" (").append(argument).append(")");
    set_error(exception_of(error.kind()), message);
  } catch (const std::bad_alloc&) {
    set_error(PyExc_MemoryError, "out of memory");
  } catch (const std::system_error& error) {
    // std::thread throws this if the system has no memory or no thread left.
    set_error(PyExc_RuntimeError, std::string("out of memory or threads: ") + error.what());
  }
}

}  // namespace

void bind_errors() { nb::register_exception_translator(translate, nullptr); }

}  // namespace halftone::python
