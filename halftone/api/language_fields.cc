// SPDX-License-Identifier: Apache-2.0
// The fields of options for language models that write, or are quantized.
#include <utility>

#include "halftone/api/option_fields.h"

namespace halftone {
namespace {

using Range = FieldRange;

}  // namespace

Field device_field(std::string& device) {
  return {
      "device", &device,
      "Where the model runs, with the same bits: cpu, a graphics card of `halftone devices` such "
      "as cuda or opencl:0, or auto: the best card there is"};
}

Field precision_field(std::optional<std::size_t>& bits) {
  return {"bits", &bits,
          "Bits of a weight, of a file of two precisions, which quantize writes with --nested "
          "(default: 4, or as the file has)",
          Range::between(3, 4)};
}

Fields fields_of(v0::LanguageModelOptions& o) {
  return {
      {"tokenizer", &o.tokenizer, "Tokenizer of a .bin file of llama2.c"},
      {"context", &o.context,
       "Tokens that the model remembers, which take memory (default: as many as it was made for, "
       "4096 at most)",
       Range::from(1)},
      {"sequences", &o.sequences, "Sequences that the model remembers, each in memory of its own",
       Range::from(1)},
      Field::word("cache", &o.cache, "How a language model keeps keys and values",
                  {"float32", "float16", "int8", "int6", "int4"}),
      {"lora", &o.lora,
       "Low-rank changes of matrices: a folder of the package peft, or a GGUF file"},
      {"draft", &o.draft,
       "A smaller language model with the same tokens, which guesses what is verified at once: "
       "faster where it guesses well, and the same text"},
      precision_field(o.bits),
      device_field(o.device),
      {"float_activations", &o.float_activations,
       "Round no activations to 8 bits: codes of weights are decoded to float32"},
  };
}

Fields fields_of(v0::LanguageSpeedOptions& o) {
  return {
      {"prompt", &o.prompt, "Tokens to read at once; 0: none", Range::from(0)},
      {"generate", &o.generate, "Tokens to write one by one; 0: none", Range::from(0)},
      Field{"depths", &o.depths, "Tokens in front of these, as in 0,4096", Range::from(0)}.as(
          "--depth"),
      {"seed", &o.seed, "Seed of the tokens, which are random"},
      {"ranks", &o.ranks,
       "Numbers of processes, as in 2,8, of which the speed of writing is predicted: on a machine "
       "like this each, started with mpirun",
       Range::between(2, 4096)},
      Field{"links", &o.links, "Gbit/s of their network, as in 10,100", Range::above(0)}.as(
          "--link"),
      Field{"latencies", &o.latencies, "Microseconds of a message, one for each --link",
            Range::from(0)}
          .as("--latency"),
  };
}

Fields fields_of(v0::LanguageFitOptions& o) {
  return {
      {"samples", &o.samples, "Samples to fit to, at most", Range::from(1)},
      {"held_out", &o.held_out, "Samples to judge by, which the fit does not see", Range::from(0)},
      {"sample_tokens", &o.sample_tokens, "Tokens of a sample", Range::from(2)},
      {"damping", &o.damping,
       "Share of each input's second moment that is added to it: more trusts the texts less",
       Range::from(0)},
      Field::clearable(
          "rotation", &o.rotates,
          "Rotations spread outliers over the channels, in Halftone's own files", "--no-rotation",
          "Keep the basis of the model; else rotations spread outliers over the channels"),
      {"synthetic", &o.synthetic, "Instead of texts: samples that the model writes itself"},
      {"tokenizer", &o.tokenizer, "Tokenizer of a .bin file of llama2.c"},
      state_field(o.state),
      choices_field(o.choices),
      {"seed", &o.seed, "Seed of everything random"},
  };
}

Fields fields_of(v0::LanguageQuantizeOptions& o) {
  Fields fields = {
      {"type", &o.types.type,
       "Type of the matrices in blocks: of GGUF as Q3_K, a vector basis as 4x8, or a number system "
       "as nvfp4 or int3/64"},
      {"table_type", &o.types.table_type,
       "Type of embeddings and head (default: the same, or one of 4 bits)"},
      {"nested", &o.nested,
       "3,4: two precisions in one file, of which --bits of other verbs takes one; instead of a "
       "type of the matrices in blocks"},
      {"size", &o.size_bytes,
       "Instead of types: bytes of the file, as 60MB; the types of the least predicted loss are "
       "chosen"},
      {"bits_per_weight", &o.bits_per_weight,
       "The same for so many bits per weight of all matrices", Range::above(0)},
      {"max_loss", &o.max_loss,
       "The types of the fewest bytes whose predicted divergence is at most so much, in nats per "
       "token",
       Range::above(0)},
      {"predict_loss", &o.predict_loss,
       "Predict the divergence of given types as well, which takes longer"},
      Field{"recipe_output", &o.recipe_output,
            "File to write the types, or with --budget the bits, to, for --recipe"}
          .as("--write-recipe"),
      {"decoded", &o.decoded,
       "Write the numbers that codes represent, as float32, for programs without codes; of a "
       "folder of Hugging Face, a folder"},
      {"candidates", &o.candidates, "Scales to try for each group of weights",
       Range::between(1, 64)},
      {"sweeps", &o.sweeps, "Passes that choose scales and codes anew by the outputs",
       Range::between(0, 100)},
  };
  return joined(std::move(fields), fields_of(static_cast<v0::LanguageFitOptions&>(o)));
}

Fields fields_of(v0::SamplingOptions& o) {
  return {
      {"temperature", &o.temperature,
       "Divides the logits before a token is drawn; 0: always the most probable token",
       Range::from(0)},
      {"top_k", &o.top_k, "Draw from the K most probable tokens; 0: from all"},
      {"top_p", &o.top_p,
       "Draw from the fewest tokens that together have this probability; 1: from all",
       Range::between(1e-9, 1)},
      {"min_p", &o.min_p, "Leave out tokens below this share of the highest probability; 0: none",
       Range::between(0, 1)},
      {"repeat_penalty", &o.repeat_penalty,
       "Above 1: makes tokens of the last --repeat-window less probable", Range::above(0)},
      {"repeat_window", &o.repeat_window, "Tokens that --repeat-penalty looks back"},
      {"presence_penalty", &o.presence_penalty, "Taken from the logits of tokens written before",
       Range::between(-2, 2)},
      {"frequency_penalty", &o.frequency_penalty,
       "Taken from the logit of a token for each time that it was written", Range::between(-2, 2)},
      {"seed", &o.seed, "Seed of the tokens that are drawn"},
  };
}

Fields fields_of(v0::GenerateOptions& o) {
  Fields fields = {
      Field{"max_tokens", &o.max_tokens, "Tokens to generate at most"}.as("-n,--tokens")};
  fields = joined(std::move(fields), fields_of(o.sampling));
  return joined(
      std::move(fields),
      {{"json_schema", &o.json_schema,
        "What the text has to be: a JSON schema, a file with one, or json for any object"},
       {"grammar", &o.grammar, "The same as a grammar of llama.cpp (GBNF), or a file with one"},
       {"regex", &o.regex,
        "The same as a regular expression of the whole text, as JSON schemas have them"},
       {"sequence", &o.sequence, "Sequence of the model that is continued"},
       Field{"control", &o.control,
             "Read control tokens such as <|im_start|> in the prompt; else they are plain text"}
           .as("--control-tokens"),
       {"lookup", &o.lookup,
        "Tokens at most to guess from what the text has said, and verify at once: faster where it "
        "repeats, and the same text; 0: none"}});
}

}  // namespace halftone
