// SPDX-License-Identifier: Apache-2.0
// Language models, as users run them.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "halftone/base/file.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

class ProgramLanguage : public Program {};

/// On the model stories260K of llama2.c, which writes stories for children.
class ProgramStories : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    const char* set = std::getenv("HALFTONE_DATA");
    const std::filesystem::path folder =
        set != nullptr ? set : std::string(HALFTONE_SOURCE_DIR) + "/../shared/data";
    const std::filesystem::path file = folder / "models" / "stories260K.bin";
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file << "; set HALFTONE_DATA";
    model_ = file.string() + " --tokenizer " + (folder / "models" / "tok512.bin").string();
  }
  [[nodiscard]] Outcome run_well(const std::string& arguments) const {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
    return outcome;
  }
  [[nodiscard]] json generate(const std::string& options) const {
    return json::parse(run_well("generate " + model_ + " --json " + options).out);
  }
  [[nodiscard]] std::string write_text() const {
    std::string text;
    for (int i = 0; i < 20; ++i) {
      text += "Lily and Tom went to the park. They saw a big, red ball in story ";
      text += std::to_string(i * i) + ".\n";
    }
    write_file(path("t.txt"), std::string_view(text));
    return path("t.txt");
  }

  std::string model_;
};

const std::string kOnce = "-p \"Once upon a time\" ";

TEST_F(ProgramStories, AreToldGreedily) {
  const Outcome found = run_well("generate " + model_ + " " + kOnce + "-n 40 --temperature 0");
  // As `run stories260K.bin -t 0` of llama2.c tells it.
  EXPECT_THAT(found.out,
              StartsWith(", there was a little girl named Lily. She loved to play outside "
                         "in the park."));
  EXPECT_THAT(found.err, HasSubstr("40 tokens, "));
  EXPECT_THAT(found.err, testing::Not(HasSubstr("warning")));
  EXPECT_EQ(run_well("generate " + model_ + " -q -n 2 " + kOnce).err, "");
  write_file(path("twice.txt"), std::string_view("\n<s>\nOnce"));
  EXPECT_THAT(run_well("generate " + model_ + " -n 2 --control-tokens -f " + path("twice.txt")).err,
              HasSubstr("warning: the prompt begins with two tokens that begin a text"));
}

TEST_F(ProgramStories, AreTheSameForTheSameSeed) {
  const std::string draw = kOnce + "-n 30 --temperature 1 ";
  const json tokens = generate(draw + "--seed 3 --threads 1")["tokens"];
  EXPECT_EQ(tokens.size(), 30U);
  EXPECT_EQ(tokens, generate(draw + "--seed 3 --threads 2")["tokens"]);
  EXPECT_NE(tokens, generate(draw + "--seed 4")["tokens"]);
}

/// Also with guesses, whose tokens are truncated where they are wrong.
TEST_F(ProgramStories, AreTheSameWithGuessesForEveryCache) {
  for (const std::string cache : {"float16", "int8", "int6", "int4"}) {
    const std::string told = kOnce + "-n 60 --temperature 0 --cache " + cache;
    EXPECT_EQ(generate(told)["tokens"], generate(told + " --lookup 0 --threads 2")["tokens"])
        << cache;
  }
}

TEST_F(ProgramStories, EndWhereTheyAreToldTo) {
  const json stopped = generate(kOnce + "--temperature 0 --stop \" Lily\"");
  EXPECT_EQ(stopped["text"], ", there was a little girl named");
  EXPECT_EQ(stopped["end"], "text");
  EXPECT_EQ(generate(kOnce + "-n 100 --context 20")["end"], "context");
  const json counted = generate(kOnce + "-n 3");
  EXPECT_EQ(counted["end"], "count");
  EXPECT_EQ(counted["tokens"].size(), 3U);
  EXPECT_EQ(counted["prompt_tokens"], 5);
  EXPECT_GT(counted["seconds_to_first_token"], 0);
  expect_failure("generate " + model_ + " " + kOnce + "--context 4", 2,
                 "expected at most 4 tokens, which is the context, found 5 (--context)");
}

TEST_F(ProgramStories, FollowASchemaOrAGrammar) {
  const std::string schema =
      R"({"type":"object","properties":{"name":{"type":"string","maxLength":20},)"
      R"("age":{"type":"integer","minimum":3,"maximum":9}},"required":["name","age"]})";
  write_file(path("s.json"), std::string_view(schema));
  for (const char* seed : {"1", "2", "3"}) {
    const json found = generate(kOnce + "--temperature 1.5 -n 200 --seed " + seed +
                                " --json-schema " + path("s.json"));
    EXPECT_EQ(found["end"], "token");
    const json text = json::parse(found["text"].get<std::string>());
    EXPECT_EQ(text.size(), 2U);
    EXPECT_TRUE(text["name"].is_string());
    EXPECT_GE(text["age"].get<int>(), 3);
    EXPECT_LE(text["age"].get<int>(), 9);
  }
  EXPECT_EQ(generate(kOnce + "--grammar 'root ::= \" said Tom\" [.!]'")["text"], " said Tom.");
  const std::string verb = "generate " + model_ + " " + kOnce;
  expect_failure(verb + "--json-schema json --grammar x", 2,
                 "expected one of a JSON schema, a grammar and a regular expression, found 2");
  expect_failure(verb + "--json-schema none.json", 3, "none.json: cannot open");
  expect_failure(verb + "--json-schema '{\"if\": {}}'", 4, "at '#': 'if' is not supported");
  expect_failure(verb + "--json-schema '{\"not\": {}}'", 2,
                 "expected one that texts can fit, found one that none fits");
  expect_failure(verb + "--grammar 'root ::= (\"a\"'", 3, "grammar, line 1: expected ')'");
}

TEST_F(ProgramStories, AreToldManyAtOnce) {
  const std::string seeded = "--temperature 0.8 --seed 3 -n 12 ";
  std::string batch = R"({"prompt": "Once upon a time", "id": {"x": 7}})"
                      "\n";
  batch += R"({"prompt": "Lily", "seed": 5, "max_tokens": 4.0, "stop": null})"
           "\n";
  batch += R"({"prompt": "Once upon a time", "temperature": 0, "stop": [" Lily", "x"]})"
           "\n";
  write_file(path("b.jsonl"), batch);
  const std::string many = "generate " + model_ + " --batch-file " + path("b.jsonl") + " " + seeded;
  const std::vector<json> alone = {generate(kOnce + seeded),
                                   generate("-p Lily --temperature 0.8 --seed 5 -n 4"),
                                   generate(kOnce + "-n 12 --temperature 0 --stop \" Lily\"")};
  for (const char* sequences : {"1", "2", "8"}) {
    const std::string out = path(std::string(sequences) + ".jsonl");
    (void)run_well(many + "--sequences " + sequences + " -o " + out);
    std::ifstream file(out);
    std::string line;
    for (std::size_t i = 0; i < alone.size(); ++i) {
      ASSERT_TRUE(std::getline(file, line));
      const json found = json::parse(line);
      EXPECT_EQ(found["line"], i + 1);
      EXPECT_EQ(found["tokens"], alone[i]["tokens"]);
      EXPECT_EQ(found["text"], alone[i]["text"]);
      EXPECT_EQ(found["end"], alone[i]["end"]);
      EXPECT_EQ(found.value("id", json::object()).value("x", 0), i == 0 ? 7 : 0);
    }
    EXPECT_FALSE(std::getline(file, line));
  }
  // A run that was stopped in the second line.
  const std::string whole = text_of(path("8.jsonl"));
  const std::size_t first = whole.find('\n') + 1;
  write_file(path("8.jsonl"), std::string_view(whole).substr(0, first + 9));
  (void)run_well(many + "-o " + path("8.jsonl"));
  const std::string resumed = text_of(path("8.jsonl"));
  EXPECT_EQ(resumed.substr(0, first), whole.substr(0, first));
  EXPECT_EQ(std::ranges::count(resumed, '\n'), 3);
  EXPECT_THAT(resumed, HasSubstr("\"line\":3"));
}

TEST_F(ProgramStories, TellTheOthersWhereLinesOfABatchAreWrong) {
  std::string batch = "{\"prompt\": \"Lily\", \"max_tokens\": 1}\n";
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"nothing", "expected JSON"},
      {"[]", "expected an object in JSON"},
      {"{\"prompt\": 3}", "expected a text as \\\"prompt\\\", or \\\"messages\\\""},
      {"{\"prompt\": \"a\", \"max_token\": 3}", "unexpected member \\\"max_token\\\""},
      {"{\"prompt\": \"a\", \"top_p\": 2}", "top_p: expected"},
      {"{\"prompt\": \"a\", \"top_k\": -2}", "top_k: expected a whole number"},
      {"{\"prompt\": \"a\", \"temperature\": \"hot\"}", "temperature: expected a number"},
      {"{\"prompt\": \"a\", \"stop\": [3]}", "stop: expected a text or a list of texts"},
      {"{\"messages\": []}", "has no chat template"},
  };
  for (const auto& [line, message] : wrong) batch += std::string(line) + "\n";
  write_file(path("b.jsonl"), batch);
  const Outcome found = run("generate " + model_ + " --batch-file " + path("b.jsonl"));
  EXPECT_EQ(found.code, 3);
  EXPECT_THAT(found.err, HasSubstr("9 of 10 lines failed, the first with: expected JSON"));
  EXPECT_THAT(found.out, HasSubstr("\"line\":1,\"text\""));
  for (const auto& [line, message] : wrong) EXPECT_THAT(found.out, HasSubstr(message));
  const std::string to_file =
      "generate " + model_ + " --batch-file " + path("b.jsonl") + " -o " + path("o.txt");
  for (const char* answers : {"{\"line\": 0}\n", "{\"line\": 1}\n{\"line\": 1}\n", "{}\n"}) {
    write_file(path("o.txt"), std::string_view(answers));
    expect_failure(to_file, 3, "o.txt: expected answers of a batch, found none behind ");
  }
  expect_failure("generate " + model_ + " --batch-file " + path(""), 3, "cannot be read");
}

/// Files as other systems write them.
TEST_F(ProgramStories, AreToldOfFilesWithBlankLines) {
  const std::string one = R"({"prompt": "Lily", "max_tokens": 3})";
  const std::string file = path("b.jsonl");
  write_file(file, std::string_view("\xEF\xBB\xBF" + one + "\r\n\r\n \n" + one + "\r\n\n" + one));
  const std::string batch = "generate " + model_ + " --batch-file " + file;
  const std::string out = run_well(batch).out;
  EXPECT_EQ(std::ranges::count(out, '\n'), 3);
  for (const char* line : {"\"line\":1,", "\"line\":4,", "\"line\":6,"}) {
    EXPECT_THAT(out, HasSubstr(line));
  }
  // A run that was stopped behind the answer to line 4 goes on with line 6.
  const std::string two = out.substr(0, out.find('\n', out.find('\n') + 1) + 1);
  write_file(path("o.jsonl"), std::string_view(two));
  (void)run_well(batch + " -o " + path("o.jsonl"));
  const std::string all = text_of(path("o.jsonl"));
  ASSERT_THAT(all, StartsWith(two));
  const json last = json::parse(all.substr(two.size()));
  EXPECT_EQ(last["line"], 6);
  EXPECT_EQ(last["text"], json::parse(out.substr(two.size()))["text"]);
}

TEST_F(ProgramStories, BeginFromAFileOrAPipe) {
  write_file(path("p.txt"), std::string_view("Once upon a time"));
  const std::string rest = "-n 10 --temperature 0 -f ";
  const json expected = generate(kOnce + "-n 10 --temperature 0")["text"];
  EXPECT_EQ(generate(rest + path("p.txt"))["text"], expected);
  EXPECT_EQ(generate(rest + "- < " + path("p.txt"))["text"], expected);
}

TEST_F(ProgramStories, AreAnsweredLineByLine) {
  write_file(path("lines.txt"), std::string_view("Tell me a story.\n\nAnother one!\n"));
  const std::string chat = "chat " + model_ + " --template zephyr -n 8 --json < ";
  const Outcome found = run_well(chat + path("lines.txt"));
  std::istringstream lines(found.out);
  std::vector<json> answers;
  for (std::string line; std::getline(lines, line);) answers.push_back(json::parse(line));
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0]["reused_tokens"], 0);
  EXPECT_GT(answers[1]["reused_tokens"], answers[0]["prompt_tokens"]);
  EXPECT_EQ(run_well(chat + path("lines.txt")).out.substr(0, 40), found.out.substr(0, 40));
  expect_failure("chat " + model_ + " < /dev/null", 4, "has no chat template");
  expect_failure("chat " + model_ + " --template x < /dev/null", 4, "or one of chatml");
  write_file(path("t.jinja"),
             std::string_view("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"));
  const Outcome own = run("chat " + model_ + " --template " + path("t.jinja") + " -n 4 --json < " +
                          path("lines.txt"));
  EXPECT_EQ(own.code, 0) << own.err;
  write_file(path("bad.jinja"), std::string_view("{% for m in messages %}"));
  expect_failure("chat " + model_ + " --template " + path("bad.jinja") + " < /dev/null", 3,
                 "bad.jinja: chat template: line 1: expected {% endfor %}");
}

TEST_F(ProgramStories, AreAnsweredAfterARequest) {
  write_file(path("r.json"), std::string_view(R"({"messages": [{"role": "tool", "content": "9"}],
    "tools": [{"name": "clock"}], "brief": true})"));
  write_file(
      path("t.jinja"),
      std::string_view(
          "{% for t in tools %}[{{ t.name }}]{% endfor %}{% for m in messages %}<{{ m.role }}>"
          "{{ m.content }}{% endfor %}{{ 'briefly' if brief }}{{ '>' if add_generation_prompt }}"));
  const std::string chat =
      "chat " + model_ + " --template " + path("t.jinja") + " --request " + path("r.json");
  EXPECT_EQ(run_well(chat + " --print-prompt").out, "[clock]<tool>9briefly>");
  write_file(path("tools.json"), std::string_view(R"([{"name": "a"}, {"name": "b"}])"));
  EXPECT_EQ(run_well(chat + " --print-prompt --tools " + path("tools.json")).out,
            "[a][b]<tool>9briefly>");
  write_file(path("lines.txt"),
             std::string_view("\"\"\"\nOne\nTwo\n\"\"\"\n/clear\n/bye\nThree\n"));
  const Outcome found = run_well(chat + " -n 4 --json < " + path("lines.txt"));
  EXPECT_EQ(std::ranges::count(found.out, '\n'), 2) << found.out;
  write_file(path("bad.json"), std::string_view("{}"));
  expect_failure("chat " + model_ + " --template zephyr --request " + path("bad.json"), 3,
                 "bad.json: request: expected 'messages', found none");
  expect_failure("chat " + model_ + " --template zephyr --print-prompt", 2, "--request");
}

/// The messages behind it are answered; the exit code tells of it.
TEST_F(ProgramStories, GoOnBehindAMessageThatIsNotUtf8) {
  write_file(path("lines.txt"), std::string_view("\xFF\nHi\n"));
  const Outcome found =
      run("chat " + model_ + " --template zephyr -n 4 --json < " + path("lines.txt"));
  EXPECT_EQ(found.code, 3);
  EXPECT_EQ(std::ranges::count(found.out, '\n'), 1) << found.out;
  EXPECT_THAT(found.err, testing::HasSubstr("UTF-8"));
}

TEST_F(ProgramStories, ForgetTheOldestTurns) {
  std::string lines;
  for (int turn = 0; turn < 20; ++turn) lines += "Tell me a story.\n";
  write_file(path("lines.txt"), std::string_view(lines));
  const Outcome found =
      run_well("chat " + model_ + " --template zephyr -n 8 --context 200 < " + path("lines.txt"));
  EXPECT_THAT(found.err, testing::HasSubstr("the oldest messages are forgotten from here on"));
  EXPECT_EQ(found.err.find("forgotten"), found.err.rfind("forgotten")) << "said once";
}

TEST_F(ProgramStories, AreMeasuredOnAText) {
  const std::string eval = "eval " + model_ + " --text " + write_text() + " --context 64 ";
  EXPECT_THAT(run_well(eval).out, StartsWith("perplexity "));
  const json whole = json::parse(run_well(eval + "--json --threads 1").out);
  EXPECT_GT(whole["value"], 1);
  EXPECT_GT(whole["standard_error"], 0);
  const std::string state = eval + "--json --state " + path("state.json");
  // The windows of a state are not measured again, and their number is part of it.
  EXPECT_EQ(run_well(state).out, run_well(state).out);
  EXPECT_EQ(json::parse(run_well(state).out), whole);
  for (const auto& [option, what] :
       std::vector<std::pair<std::string, std::string>>{{" --stride 32", "windows"},
                                                        {" --cache int8", "cache"},
                                                        {" --float-activations", "activations"},
                                                        {" --float-order fixed", "float order"}}) {
    expect_failure(state + option, 3,
                   "state.json: has measures of a text of another job: expected " + what);
  }
  const json half = json::parse(run_well(eval + "--json --second-half").out);
  EXPECT_EQ(half["tokens"], half["windows"].get<int>() * 31);
  const std::string file = model_.substr(0, model_.find(' '));
  const json same = json::parse(run_well(eval + "--json --reference " + file).out);
  EXPECT_EQ(same["value"], whole["value"]);
  EXPECT_GE(same["reference"]["kl_divergence"]["value"], 0);
}

TEST_F(ProgramStories, AreMeasuredOnSeveralTexts) {
  const std::string text = write_text();
  const std::string eval = "eval " + model_ + " --context 64 --text " + text;
  write_file(path("other.txt"), std::string_view("The Cat. The Dog. The Cat and the Dog."));
  const std::string both = eval + " --text " + path("other.txt") + " --state " + path("state");
  const json found = json::parse(run_well(both + " --json").out)["texts"];
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1]["text"], "other.txt");
  EXPECT_EQ(found[0]["value"], json::parse(run_well(eval + " --json").out)["value"]);
  EXPECT_TRUE(std::filesystem::exists(path("state.2")));
  EXPECT_THAT(run_well(both).out, HasSubstr("\nother.txt"));
  expect_failure(eval + " --text " + path("none.txt"), 3, "none.txt: cannot open");
}

TEST_F(ProgramStories, HaveTheSameBitsOnEveryProcessor) {
  const std::string eval = "eval " + model_ + " --text " + write_text() + " --context 64 --json ";
  const std::string expected = run_well(eval).out;
  for (const char* how : {"--threads 1", "--simd SCALAR", "--simd SCALAR --threads 2"}) {
    EXPECT_EQ(run_well(eval + how).out, expected) << how;
  }
  for (const std::string cache : {"int8", "int6", "int4"}) {
    const std::string rounded = run_well(eval + "--cache " + cache).out;
    EXPECT_NE(rounded, expected);
    EXPECT_EQ(run_well(eval + "--simd SCALAR --threads 2 --cache " + cache).out, rounded);
  }
}

/// A file of two precisions, in both.
TEST_F(ProgramStories, AreReadInTwoPrecisions) {
  const std::string small = path("two.safetensors");
  (void)run_well("quantize " + model_ + " -o " + small + " -q --nested 3,4 --text " + write_text() +
                 " --sample-tokens 32 --samples 12 --tensor '*.ffn_down.weight=keep'");
  const auto tokens = [&](const std::string& bits) {
    const std::string options = " --json -n 20 --temperature 0 " + kOnce;
    return json::parse(run_well("generate " + small + options + bits).out)["tokens"];
  };
  EXPECT_EQ(tokens(""), tokens("--bits 4"));
  EXPECT_NE(tokens("--bits 4"), tokens("--bits 3"));
  EXPECT_THAT(run_well("inspect " + small).out, HasSubstr("nested3+4"));
  expect_failure("generate " + small + " --bits 2", 2, "--bits: Value 2 not in range 3 to 4");
  expect_failure("generate " + model_ + " -p a --bits 3", 2, "expected a file of two precisions");
  expect_failure("quantize " + model_ + " -o " + path("b") + " --nested 2,4", 2, "nested");
  expect_failure("quantize " + model_ + " -o " + small + " --nested 3,4 --text " + write_text(), 2,
                 "blk.0.ffn_down.weight: nested3+4 has blocks of 64 weights, rows have 172; ");
}

TEST_F(ProgramStories, AreTurnedIntoVectors) {
  const std::string embed = "embed " + model_ + " --json ";
  const json alone = json::parse(run_well(embed + "-p \"The cat sleeps.\"").out)["vectors"][0];
  double squares = 0;
  for (const double number : alone) squares += number * number;
  EXPECT_NEAR(squares, 1, 3 * 0x1p-24) << "each number is rounded once to float32";
  write_file(path("t.txt"), std::string_view("The cat sleeps.\nA red ball\n"));
  const json three =
      json::parse(run_well(embed + "-p \"Once\" -f " + path("t.txt")).out)["vectors"];
  ASSERT_EQ(three.size(), 3U);
  EXPECT_EQ(three[1], alone);
  EXPECT_NE(three[2], alone);
  (void)run_well("embed " + model_ + " -p Once --dimensions 8 -o " + path("v.npy"));
  EXPECT_THAT(text_of(path("v.npy")), HasSubstr("(1, 8)"));
  expect_failure("embed " + model_, 2, "expected a text: --prompt or --file");
}

TEST_F(ProgramStories, AreTimed) {
  const std::string bench = "bench " + model_ + " --prompt 16 --generate 4 --depth 0,32";
  const json found = json::parse(run_well(bench + " --json").out);
  ASSERT_EQ(found["depths"].size(), 2U);
  EXPECT_EQ(found["depths"][1]["depth"], 32);
  EXPECT_GT(found["depths"][1]["tokens_per_second"], 0);
  EXPECT_GT(found["memory_bytes_per_second"], 0);
  EXPECT_THAT(run_well(bench).out, HasSubstr("tokens in front"));
}

TEST_F(ProgramLanguage, RefusesOptionsThatDoNotFit) {
  write_file(path("t.txt"), std::string_view("Once upon a time"));
  expect_failure("generate m.gguf", 2, "expected a prompt: either --prompt or --file");
  expect_failure("generate m.gguf -p a -f b", 2, "--prompt excludes --file");
  expect_failure("generate m.gguf -p a --batch-file t.txt", 2, "excludes");
  expect_failure("generate m.gguf -p a --sequences 2", 2, "--sequences requires --batch-file");
  expect_failure("generate m.gguf -p a --top-p 0", 2, "--top-p: expected a number from");
  expect_failure("generate m.gguf -p a --context 0", 2,
                 "--context: expected a whole number from 1");
  expect_failure("generate m.bin -p a", 2, "m.bin: a model of llama2.c: expected a tokenizer");
  expect_failure("generate m.gguf -p a --tokenizer t.bin", 2,
                 "expected no other one (--tokenizer)");
  expect_failure("eval m.gguf", 2, "--text, of a language model, is required");
  expect_failure("eval m.gguf --text t.txt --data d", 2, "excludes");
  expect_failure("eval m.gguf --data d --stride 3", 2, "--stride requires --text");
  expect_failure("eval m.gguf --text t.txt --context 1", 2, "expected a whole number from 2");
  expect_failure("bench " + kModel + " --depth 1", 2, "--depth: only of language models");
  expect_failure("bench m.gguf --batch 1", 2, "--batch: only of networks that are");
  expect_failure("bench m.gguf --depth x", 2, "--depth: expected a whole number");
}

TEST_F(ProgramLanguage, RefusesFilesThatAreNone) {
  expect_failure("generate none.gguf -p a", 3, "none.gguf: cannot open");
  expect_failure("generate m.gguf -f none.txt", 3, "none.txt: cannot open");
  expect_failure("chat none.gguf < /dev/null", 3, "none.gguf: cannot open");
  expect_failure("bench none.gguf", 3, "none.gguf: cannot open");
  expect_failure("eval none.gguf --text none.txt", 3, "none.txt: cannot open");
  write_file(path("broken.gguf"), std::string_view("GGUF"));
  expect_failure("generate " + path("broken.gguf") + " -p a", 3, "broken.gguf: ");
}

}  // namespace
}  // namespace halftone
