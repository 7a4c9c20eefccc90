// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/model_texts.h"

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/lm/text/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

class ModelTextsTest : public WithFolder {
 protected:
  void write(const std::string& name, std::string_view text) const { write_file(path(name), text); }
  void write_tokenizer() const {
    write("tokenizer.json", R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
        "added_tokens": [{"id": 1, "content": "<|end|>", "special": true},
                         {"id": 2, "content": "<s>", "special": true}],
        "model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "b": 3}}})");
  }
  [[nodiscard]] ModelTexts folder() const { return read_model_texts(folder_, ""); }
};

TEST_F(ModelTextsTest, OfAGgufFile) {
  formats::GgufKeys keys = tokenizer_keys("llama", {"a", "<s>", "</s>", "stop"}, {1, 3, 3, 1});
  keys.set("tokenizer.chat_template", "{{ x }}");
  set_token(keys, "eot", 3);
  set_token(keys, "bos", 1);
  formats::write_gguf(path("m.gguf"), keys, {});
  const ModelTexts texts = read_model_texts(path("m.gguf"), "");
  EXPECT_EQ(texts.chat_template, "{{ x }}");
  EXPECT_EQ(texts.marks.begin, "<s>");
  EXPECT_THAT(texts.end_tokens, ElementsAre(2, 3));
  write("broken.gguf", "GGUF");
  expect_error(ErrorKind::kFormat,
               "broken.gguf: ", [&] { read_model_texts(path("broken.gguf"), ""); });
}

TEST_F(ModelTextsTest, OfAFolder) {
  write_tokenizer();
  EXPECT_EQ(folder().chat_template, "");
  EXPECT_THAT(folder().end_tokens, ElementsAre(1)) << "<|end|> is known";
  write("tokenizer_config.json", R"({"bos_token": {"content": "<s>"}, "eos_token": "<s>",
        "chat_template": [{"name": "other"}, {"name": "default", "template": "{{ a }}"}]})");
  write("generation_config.json", R"({"eos_token_id": [3, 99, "x"]})");
  EXPECT_EQ(folder().chat_template, "{{ a }}");
  EXPECT_EQ(folder().marks.begin, "<s>");
  EXPECT_THAT(folder().end_tokens, ElementsAre(2, 3)) << "as transformers";
  EXPECT_THAT(folder().answer_end_tokens, ElementsAre(1, 2, 3));
  write("tokenizer_config.json", R"({"chat_template": "{{ b }}"})");
  write("generation_config.json", R"({"eos_token_id": 0})");
  EXPECT_EQ(folder().chat_template, "{{ b }}");
  EXPECT_THAT(folder().end_tokens, ElementsAre(0));
  EXPECT_THAT(folder().answer_end_tokens, ElementsAre(0, 1));
  write("chat_template.jinja", "{{ c }}");
  EXPECT_EQ(folder().chat_template, "{{ c }}");
  write("generation_config.json", "[]");
  expect_error(ErrorKind::kFormat, "generation_config.json: expected an object",
               [&] { (void)folder(); });
  write("tokenizer.json", "1");
  expect_error(ErrorKind::kFormat, folder_.string() + ": tokenizer.json: expected an object",
               [&] { (void)folder(); });
}

TEST_F(ModelTextsTest, BecomeKeysOfAGgufFile) {
  write_tokenizer();
  write("tokenizer_config.json", R"({"bos_token": {"content": "<s>"}, "eos_token": "<|end|>",
        "unk_token": "nothing", "pad_token": "a", "chat_template": "{{ a }}"})");
  write("config.json", R"({"eos_token_id": 3, "bos_token_id": 0, "unk_token_id": 9})");
  const auto keys_of_folder = [&] {
    formats::GgufKeys keys;
    set_gguf_text_keys(keys, folder_, 5);
    return keys;
  };
  const auto token = [&](const char* name) {
    return formats::gguf_of(keys_of_folder())
        .integer("tokenizer.ggml." + std::string(name) + "_token_id");
  };
  EXPECT_EQ(token("bos"), 2);
  EXPECT_EQ(token("eos"), 1);
  EXPECT_EQ(token("unknown"), std::nullopt) << "no such token, and 9 is beyond the vocabulary";
  EXPECT_EQ(token("padding"), 0);
  formats::write_gguf(path("m.gguf"), keys_of_folder(), {});
  const ModelTexts texts = read_model_texts(path("m.gguf"), "");
  EXPECT_EQ(texts.chat_template, "{{ a }}");
  EXPECT_EQ(texts.marks.begin, "<s>");
  EXPECT_EQ(texts.marks.end, "<|end|>");
  EXPECT_THAT(texts.end_tokens, ElementsAre(1));
  EXPECT_EQ(texts.tokenizer.encode("ab"), folder().tokenizer.encode("ab"));
  // Without names of tokens, those of config.json, then generation_config.json.
  write("tokenizer_config.json", "{}");
  write("generation_config.json", R"({"pad_token_id": [1, 2]})");
  EXPECT_EQ(token("bos"), 0);
  EXPECT_EQ(token("eos"), 3);
  EXPECT_EQ(token("padding"), 1);
  EXPECT_EQ(formats::gguf_of(keys_of_folder()).find("tokenizer.chat_template"), nullptr);
  expect_error(ErrorKind::kFormat, folder_.string() + ": tokenizer: expected at most 3 tokens",
               [&] {
                 formats::GgufKeys keys;
                 set_gguf_text_keys(keys, folder_, 3);
               });
}

TEST_F(ModelTextsTest, OfLlama2c) {
  formats::GgufBytes file;
  file.number<std::int32_t>(6);
  for (const char* text : {"<unk>", "\n<s>\n", "\n</s>\n", "a"}) {
    file.number(0.0F).number(static_cast<std::int32_t>(std::string_view(text).size())).raw(text);
  }
  write_file(path("tok.bin"), file.bytes());
  EXPECT_THAT(read_model_texts("stories.bin", path("tok.bin")).end_tokens, ElementsAre(1, 2));
  expect_error(ErrorKind::kUsage, "stories.bin: a model of llama2.c: expected a tokenizer",
               [] { read_model_texts("stories.bin", ""); });
  expect_error(ErrorKind::kUsage, "m.gguf: has a tokenizer of its own",
               [&] { read_model_texts("m.gguf", path("tok.bin")); });
  expect_error(ErrorKind::kIo, "none.gguf", [] { read_model_texts("none.gguf", ""); });
}

TEST_F(ModelTextsTest, EndAsTheConfigurationSays) {
  write_tokenizer();
  write("config.json", R"({"eos_token_id": [0, 3], "time_step_limit": [0, Infinity]})");
  EXPECT_THAT(folder().end_tokens, ElementsAre(0, 3));
  write("config.json", R"({"text_config": {"eos_token_id": 3}})");
  EXPECT_THAT(folder().end_tokens, ElementsAre(3));
  write("generation_config.json", R"({"eos_token_id": 2})");
  EXPECT_THAT(folder().end_tokens, ElementsAre(2)) << "config.json does not count then";
}

TEST(EndTokens, AreKnownWhateverTheirKind) {
  for (const std::int32_t kind : {1, 2, 4, 5}) {
    formats::GgufKeys keys =
        tokenizer_keys("llama", {"<unk>", "<s>", "</s>", "<|im_end|>"}, {2, 3, 3, kind});
    const Tokenizer tokenizer = Tokenizer::from_gguf(formats::gguf_of(keys));
    EXPECT_THAT(end_tokens(tokenizer), ElementsAre(2, 3)) << kind;
    EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{3}), "");
  }
  formats::GgufKeys harmony =
      tokenizer_keys("llama", {"<unk>", "<s>", "</s>", "<|end|>", "<|return|>", "<|call|>"});
  EXPECT_THAT(end_tokens(Tokenizer::from_gguf(formats::gguf_of(harmony))), ElementsAre(2, 4, 5));
}

TEST(EndTokens, AreThoseThatAreKnown) {
  const formats::GgufFile file = byte_tokens({"<|im_end|>", "<|other|>", "<eos>"});
  EXPECT_THAT(end_tokens(Tokenizer::from_gguf(file)), ElementsAre(256, 258));
}

}  // namespace
}  // namespace halftone::lm
