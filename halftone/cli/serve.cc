// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <array>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "halftone/cli/field_options.h"
#include "halftone/cli/given_options.h"
#include "halftone/cli/interruption.h"
#include "halftone/cli/language_options.h"
#include "halftone/server/http_server.h"

namespace halftone::cli {
namespace {

struct ServeVerbOptions {
  CommonOptions common;
  LanguageOptions language;
  server::ServerOptions server;
};

void run(const ServeVerbOptions& options, const Machine& machine) {
  if (follows(options.language.model, options.language.open, options.common, machine)) return;
  apply(options.common);
  server::ServerOptions server = options.server;
  server.generate.sampling.seed = options.common.seed;
  if (!options.common.quiet) {
    server.log = [](const std::string& line) { std::cerr << line + "\n" << std::flush; };
  }
  if (!is_language_model(options.language.model)) {
    const Interruption interruption;
    return server::serve(load(options.language.model), server,
                         [] { return Interruption::is_wanted(); });
  }
  OpenOptions open = options.language.open;
  open.on_device = [&](const std::string& line) { server.notes.push_back(line); };
  open.ranks = machine.ranks();
  TextModel model = TextModel::open(options.language.model, open);
  for (const std::string& warning : model.warnings()) server.notes.push_back(warning);
  const Interruption interruption;
  server::serve(model, server, [] { return Interruption::is_wanted(); });
}

/// Options of a server that are not about its model.
constexpr std::array<const char*, 8> kServerOptions = {
    "--host",         "--port", "--api-key",     "--ssl-cert-file",
    "--ssl-key-file", "--name", "--connections", "--max-body"};

/// Those that do nothing for a network.
/// @param first  index of the first one that not every verb has
std::vector<CLI::Option*> language_options(CLI::App& verb, std::size_t first) {
  std::vector<CLI::Option*> options = options_from(verb, first);
  std::erase(options, verb.get_option("model"));
  for (const char* name : kServerOptions) std::erase(options, verb.get_option(name));
  return options;
}

void add_address(CLI::App& verb, server::ServerOptions& server) {
  verb.add_option("--host", server.host, "Address to listen at; 0.0.0.0: all of this machine")
      ->capture_default_str();
  verb.add_option("--port", server.port, "Port to listen at; 0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  verb.add_option("--api-key", server.api_key,
                  "Key that requests must bear; better in the environment, as HALFTONE_API_KEY")
      ->envname("HALFTONE_API_KEY");
  CLI::Option* certificate =
      verb.add_option("--ssl-cert-file", server.certificate,
                      "Certificate in PEM, with the chain of its signers: connections are HTTPS");
  CLI::Option* key =
      verb.add_option("--ssl-key-file", server.key, "Private key of the certificate, in PEM");
  certificate->needs(key);
  key->needs(certificate);
}

void add_limits(CLI::App& verb, server::ServerOptions& server) {
  verb.add_option("--queue", server.queue,
                  "Texts that wait while all sequences are in use; more are refused (429)")
      ->check(whole_from(0))
      ->capture_default_str();
  verb.add_option("--connections", server.connections, "Connections that are answered at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  verb.add_option("--max-body", server.body_bytes, "Bytes of a request at most, as 4MiB")
      ->transform(byte_count())
      ->default_str("4MiB");
  verb.add_option("--max-seconds", server.seconds, "Time for a text, from its request on; 0: any")
      ->check(non_negative_number())
      ->capture_default_str();
  verb.add_option("--run-tokens", server.run_tokens,
                  "Tokens of a run at most: more read long prompts faster, fewer let others wait "
                  "less")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ServeVerbOptions>();
  CLI::App* verb = add_verb(app, "serve",
                            "Serve a language model over HTTP, as OpenAI's API does, or run a "
                            "network on what requests give",
                            "halftone serve model.gguf --port 8080", options->common);
  const std::size_t before = verb->get_options().size();
  add_language_options(*verb, options->language);
  options->language.open.sequences = 8;
  add_open_fields(*verb, options->language.open, {"sequences"})[0]->description(
      "Texts that are written together, each in memory of its own");
  server::ServerOptions& server = options->server;
  add_address(*verb, server);
  verb->add_option("--name", server.name, "Name of the model in requests (default: of its file)");
  verb->add_option("--template", server.chat_template,
                   "How conversations are written: a file with a template in Jinja, or a family "
                   "such as chatml (default: as the model says)");
  add_limits(*verb, server);
  add_generate_options(*verb, server.generate);
  verb->get_option("--tokens")
      ->description(
          "Tokens of a text at most, which no request may exceed; 0: until the context "
          "is full");
  const std::vector<CLI::Option*> of_language = language_options(*verb, before);
  verb->final_callback([options, of_language, &action] {
    if (!is_language_model(options->language.model)) refuse_given(of_language, kLanguageOnly);
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
