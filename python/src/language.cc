// SPDX-License-Identifier: Apache-2.0
// Language models.
#include "halftone/report/language.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "halftone/api/language_model.h"
#include "halftone/api/language_speed.h"
#include "halftone/api/option_fields.h"
#include "halftone/api/text_embedding.h"
#include "halftone/api/text_evaluation.h"
#include "halftone/api/text_generation.h"
#include "halftone/base/thread_settings.h"
#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/fields.h"
#include "python/src/progress.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

using Tokens = std::vector<lm::TokenId>;

struct OpenArguments {
  v0::LanguageModelOptions options{};
  int threads = 0;
};

struct GenerateArguments : v0::GenerateOptions {
  std::string chat_template{};
  bool forgets = false;
  nb::object on_token = nb::none();  ///< called with a token, or None, and its text
};

struct SpeedArguments {
  v0::LanguageSpeedOptions options{};
  nb::object progress = nb::none();
};

struct EvaluateTextArguments {
  lm::WindowOptions windows{};
  nb::object progress = nb::none();
};

/// Python's function is called, and signals are looked at, for each token.
v0::OnToken on_token_of(const GenerateArguments& how, Reporter& reporter) {
  return [&](lm::TokenId token, std::string_view text) {
    bool goes_on = true;
    reporter.with_python([&] {
      if (how.on_token.is_none()) return;
      const nb::object which = token == lm::kNoToken ? nb::none() : nb::object(nb::int_(token));
      goes_on = !how.on_token(which, nb::str(text.data(), text.size())).is(nb::handle(Py_False));
    });
    return goes_on;
  };
}

class PythonLanguageModel {
 private:
  /// Runs `work` without the GIL: by this thread alone, on the threads of the model.
  template <typename Work>
  auto run(Reporter& reporter, const Work& work) {
    return reporter.run([&] {
      const ExclusiveUse alone(used_, "model");
      const UseThreadSettings use(settings_);
      return work();
    });
  }
  template <typename Work>
  Texts written(const GenerateArguments& how, const Work& work) {
    Reporter reporter{nb::none()};
    const v0::OnToken on_token = on_token_of(how, reporter);
    return run(reporter, [&] {
      const lm::Generation found = work(on_token);
      return Texts(found.text, report::to_json(found));
    });
  }

 public:
  static std::unique_ptr<PythonLanguageModel> open(const std::filesystem::path& path,
                                                   const OpenArguments& how) {
    const nb::gil_scoped_release no_gil;
    ThreadSettings settings = thread_settings();
    settings.threads = how.threads;
    const UseThreadSettings use(settings);
    return std::make_unique<PythonLanguageModel>(settings, TextModel::open(path, {how.options}));
  }
  PythonLanguageModel(const ThreadSettings& settings, TextModel model)
      : settings_(settings), model_(std::move(model)) {}

  [[nodiscard]] const TextModel& model() const { return model_; }

  void append(const Tokens& tokens, std::size_t sequence, bool all, const nb::object& logits) {
    const Array out(logits, Access::kWrite);
    const std::span<float> place = out.writable<float>();
    Reporter reporter{nb::none()};
    run(reporter, [&] {
      const std::vector<float> found = model_.model().append(sequence, tokens, all);
      if (place.size() != found.size()) fail(ErrorKind::kInternal, "logits of another size");
      std::ranges::copy(found, place.begin());
    });
  }
  /// @param sequences  as many as there are parts
  void append_each(const std::vector<std::size_t>& sequences, const std::vector<Tokens>& parts,
                   const nb::object& logits) {
    const Array out(logits, Access::kWrite);
    const std::span<float> place = out.writable<float>();
    Reporter reporter{nb::none()};
    run(reporter, [&] {
      std::vector<lm::SequencePart> all;
      for (std::size_t i = 0; i < parts.size(); ++i) all.push_back({sequences[i], parts[i]});
      const std::vector<float> found = model_.model().append_each(all);
      if (place.size() != found.size()) fail(ErrorKind::kInternal, "logits of another size");
      std::ranges::copy(found, place.begin());
    });
  }
  std::size_t embedding_width() {
    const ExclusiveUse alone(used_, "model");
    return model_.embedder().width();
  }
  /// @param dimensions  as many as a row of `vectors` has
  void embed(const std::vector<std::string>& texts, std::size_t dimensions,
             const nb::object& vectors) {
    const Array out(vectors, Access::kWrite);
    const std::span<float> place = out.writable<float>();
    Reporter reporter{nb::none()};
    run(reporter, [&] {
      std::size_t at = 0;
      for (const std::vector<float>& each : halftone::embed(model_, texts, dimensions)) {
        std::ranges::copy(each, place.subspan(at, each.size()).begin());
        at += each.size();
      }
    });
  }
  Tokens tokens(std::size_t sequence) {
    const ExclusiveUse alone(used_, "model");
    const std::size_t count = model_.model().sequences();
    if (sequence >= count) {
      fail(ErrorKind::kUsage, "sequence: expected 0 to " + std::to_string(count - 1) + ", found " +
                                  std::to_string(sequence));
    }
    const auto found = model_.model().tokens(sequence);
    return {found.begin(), found.end()};
  }
  void truncate(std::size_t length, std::size_t sequence) {
    const ExclusiveUse alone(used_, "model");
    model_.model().truncate(sequence, length);
  }
  std::size_t bytes_per_token(std::size_t length) {
    const ExclusiveUse alone(used_, "model");
    return model_.model().bytes_per_token(length);
  }

  Texts generate(const std::string& prompt, const GenerateArguments& how) {
    return written(how, [&](const v0::OnToken& on_token) {
      return generate_text(model_, prompt, how, on_token);
    });
  }
  /// @param prompt  nullopt: what the sequence has
  Texts generate_from(const std::optional<Tokens>& prompt, const GenerateArguments& how) {
    return written(how, [&](const v0::OnToken& on_token) {
      return generate_from_tokens(model_, prompt, how, on_token);
    });
  }
  Texts answer_request(const std::string& request, const GenerateArguments& how) {
    return written(how, [&](const v0::OnToken& on_token) {
      return answer(model_, chat_request_of_json(request), {how.chat_template, how, how.forgets},
                    on_token);
    });
  }

  Texts measure_speed(const SpeedArguments& how) {
    Reporter reporter(how.progress);
    return run(reporter, [&] {
      const LanguageSpeed found = measure_language_speed(model_, {how.options, reporter.sink()});
      return Texts(report::to_text(found), report::to_json(found));
    });
  }

  Texts evaluate(const std::string& text, PythonLanguageModel* reference,
                 const EvaluateTextArguments& how) {
    if (reference == this) {
      fail(ErrorKind::kUsage, "reference: expected another model, found the same");
    }
    Reporter reporter(how.progress);
    return run(reporter, [&] {
      std::optional<ExclusiveUse> alone;
      if (reference != nullptr) alone.emplace(reference->used_, "model");
      TextEvaluationSettings options;
      options.windows = how.windows;
      options.progress = reporter.sink();
      const lm::TextEvaluation found =
          evaluate_text(model_, reference == nullptr ? nullptr : &reference->model_, text, options);
      return Texts(report::to_text(found), report::to_json(found));
    });
  }

 private:
  ThreadSettings settings_;
  TextModel model_;
  std::atomic<bool> used_{false};
};

nb::bytes python_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

void bind_generate_options(nb::module_& module) {
  nb::class_<GenerateArguments> arguments(module, "GenerateArguments");
  bind_fields(arguments,
              [](GenerateArguments& a) { return fields_of(static_cast<v0::GenerateOptions&>(a)); });
  arguments.def(nb::init<>())
      .def_rw("stops", &GenerateArguments::stops)
      .def(
          "set_logit_bias",
          [](GenerateArguments& how, const Tokens& tokens, const std::vector<double>& biases) {
            for (std::size_t i = 0; i < tokens.size(); ++i) {
              how.sampling.logit_bias.push_back({tokens[i], biases.at(i)});
            }
          },
          nb::arg("tokens"), nb::arg("biases"))
      .def_rw("chat_template", &GenerateArguments::chat_template)
      .def_rw("forgets", &GenerateArguments::forgets)
      .def_rw("on_token", &GenerateArguments::on_token, nb::arg().none());
}

void bind_other_options(nb::module_& module) {
  nb::class_<OpenArguments> open(module, "OpenArguments");
  bind_fields(open, [](OpenArguments& a) { return fields_of(a.options); });
  open.def(nb::init<>()).def_rw("threads", &OpenArguments::threads);
  nb::class_<SpeedArguments> speed(module, "SpeedArguments");
  bind_fields(speed, [](SpeedArguments& a) { return fields_of(a.options); });
  speed.def(nb::init<>()).def_rw("progress", &SpeedArguments::progress, nb::arg().none());
  nb::class_<EvaluateTextArguments> evaluate(module, "EvaluateTextArguments");
  bind_fields(evaluate, [](EvaluateTextArguments& a) {
    lm::WindowOptions& w = a.windows;
    return window_fields(w.context, w.stride, w.limit, w.second_half);
  });
  evaluate.def(nb::init<>()).def_rw("progress", &EvaluateTextArguments::progress, nb::arg().none());
}

void bind_facts(nb::class_<PythonLanguageModel>& model) {
  model.def_prop_ro("name", [](const PythonLanguageModel& m) { return m.model().name(); })
      .def_prop_ro("device", [](const PythonLanguageModel& m) { return m.model().device(); })
      .def_prop_ro("vocabulary",
                   [](const PythonLanguageModel& m) { return m.model().model().vocabulary(); })
      .def_prop_ro("context",
                   [](const PythonLanguageModel& m) { return m.model().model().context(); })
      .def_prop_ro("sequences",
                   [](const PythonLanguageModel& m) { return m.model().model().sequences(); })
      .def_prop_ro("begin_token",
                   [](const PythonLanguageModel& m) { return m.model().begin_token(); })
      .def(
          "is_end_token",
          [](const PythonLanguageModel& m, lm::TokenId token) {
            return m.model().is_end_token(token);
          },
          nb::arg("token"));
}

void bind_text(nb::class_<PythonLanguageModel>& model) {
  model
      .def(
          "tokenize",
          [](const PythonLanguageModel& m, const std::string& text, bool begin, bool control) {
            return m.model().tokenize(text, {begin, control});
          },
          nb::arg("text"), nb::arg("begin"), nb::arg("control"))
      .def(
          "detokenize",
          [](const PythonLanguageModel& m, const Tokens& tokens) {
            return python_bytes(m.model().detokenize(tokens));
          },
          nb::arg("tokens"))
      .def(
          "token_bytes",
          [](const PythonLanguageModel& m, lm::TokenId token) {
            return python_bytes(m.model().token_text(token));
          },
          nb::arg("token"))
      .def(
          "chat_prompt",
          [](const PythonLanguageModel& m, const std::string& request, const std::string& name) {
            return chat_prompt(m.model(), chat_request_of_json(request), name);
          },
          nb::arg("request"), nb::arg("chat_template"));
}

}  // namespace

void bind_language(nb::module_& module) {
  bind_generate_options(module);
  bind_other_options(module);
  nb::class_<PythonLanguageModel> model(module, "LanguageModel");
  bind_facts(model);
  bind_text(model);
  model.def_static("open", &PythonLanguageModel::open, nb::arg("path"), nb::arg("how"))
      .def("append", &PythonLanguageModel::append, nb::arg("tokens"), nb::arg("sequence"),
           nb::arg("all"), nb::arg("logits"))
      .def("append_each", &PythonLanguageModel::append_each, nb::arg("sequences"), nb::arg("parts"),
           nb::arg("logits"))
      .def("embedding_width", &PythonLanguageModel::embedding_width)
      .def("embed", &PythonLanguageModel::embed, nb::arg("texts"), nb::arg("dimensions"),
           nb::arg("vectors"))
      .def("tokens", &PythonLanguageModel::tokens, nb::arg("sequence"))
      .def("truncate", &PythonLanguageModel::truncate, nb::arg("length"), nb::arg("sequence"))
      .def("bytes_per_token", &PythonLanguageModel::bytes_per_token, nb::arg("length"))
      .def("generate", &PythonLanguageModel::generate, nb::arg("prompt"), nb::arg("how"))
      .def("generate_from", &PythonLanguageModel::generate_from, nb::arg("prompt").none(),
           nb::arg("how"))
      .def("answer", &PythonLanguageModel::answer_request, nb::arg("request"), nb::arg("how"))
      .def("evaluate", &PythonLanguageModel::evaluate, nb::arg("text"), nb::arg("reference").none(),
           nb::arg("how"))
      .def("measure_speed", &PythonLanguageModel::measure_speed, nb::arg("how"));
}

}  // namespace halftone::python
