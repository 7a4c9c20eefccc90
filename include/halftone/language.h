// SPDX-License-Identifier: Apache-2.0
/// @file
/// Language models in C: tokens, logits, texts, conversations, quantization. Link libhalftone.
///
///     static int print(void* user, int32_t token, const char* text, size_t bytes) {
///       fwrite(text, 1, bytes, stdout);
///       return 0;  // go on
///     }
///     halftone_language_options open = {.struct_bytes = sizeof open, .context = 2048};
///     halftone_generate_options how = {.struct_bytes = sizeof how, .max_tokens = 64,
///                                      .on_token = print};
///     halftone_language_model* model = NULL;
///     if (halftone_language_model_load(context, "model.gguf", &open, &model) != HALFTONE_OK ||
///         halftone_language_model_generate(model, "Once", &how, NULL) != HALFTONE_OK) {
///       fprintf(stderr, "%s\n", halftone_error_message());
///     }
///
/// Sequences. A model remembers the tokens of some sequences, with what it has computed for them.
/// Functions that are given a prompt or a conversation reuse the tokens at its front that the
/// sequence has already. Logits depend on the tokens of their sequence alone, bit for bit: not on
/// how these were divided into calls, nor on threads, other sequences or the processor.
///
/// Threads. A model is for one thread at a time; what overlaps is HALFTONE_USAGE. Only
/// tokenize(), detokenize(), token_text(), chat_prompt() and the functions without a status may run
/// beside anything else. Models of the same file share memory only where the system maps it.
///
/// Callbacks run on the calling thread, inside the call. They must not destroy the model.
///
/// Texts are UTF-8 and end at their first zero byte. What halftone.h says of ownership, errors,
/// options and stability holds here too. A build of Halftone without the libraries for text (PCRE2,
/// utf8proc) opens no model: HALFTONE_UNSUPPORTED.
#pragma once

#include <halftone/halftone.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Models ------------------------------------------------------------------------------- */

/** A language model with its tokenizer and the memory of its sequences. */
typedef struct halftone_language_model halftone_language_model;

/** No token. */
#define HALFTONE_NO_TOKEN ((int32_t)-1)

/** How the keys and values of a sequence are kept. */
typedef enum halftone_cache {
  HALFTONE_CACHE_FLOAT16 = 0,
  HALFTONE_CACHE_FLOAT32 = 1,
  HALFTONE_CACHE_INT8 = 2, /**< rotated, with a scale for the numbers of each head */
  HALFTONE_CACHE_INT4 = 3, /**< rotated, in groups of 32 numbers: 4.5 bits a number */
  HALFTONE_CACHE_INT6 = 4  /**< as INT8, with 6 bits a number */
} halftone_cache;

/** For halftone_language_model_load(). */
typedef struct halftone_language_options {
  size_t struct_bytes;   /**< sizeof(halftone_language_options) */
  const char* tokenizer; /**< a file such as tokenizer.bin, for a model of llama2.c; else NULL */
  size_t context;        /**< tokens of a sequence at most, which take memory; 0: as many as the
                              model was made for, 4096 at most */
  size_t sequences;      /**< that the model remembers; 0: 1 */
  int cache;             /**< a halftone_cache */
  int float_activations; /**< nonzero: inputs are not rounded to 8 bits, weights become float32 */
  const char* lora;      /**< low-rank changes: a folder of peft or a GGUF file; NULL: none */
  const char* device;    /**< "opencl:0", "cuda": a card, same bits; "auto": the best; else "cpu" */
  const char* draft;     /**< a smaller model with the same tokens, to guess them; NULL: none */
  size_t bits;           /**< of a file of two precisions, 3 or 4; 0: 4, or any other file */
} halftone_language_options;

/** Opens a GGUF file, a folder of Hugging Face (config.json, *.safetensors, tokenizer.json) or a
 *  *.bin file of llama2.c.
 *  @param context  its threads, SIMD target and memory limit hold for all calls of the model
 *  @param path     its weights may be mapped: the files must not change while the model lives
 *  @param options  may be NULL
 *  @return HALFTONE_IO, HALFTONE_FORMAT, HALFTONE_UNSUPPORTED, HALFTONE_SHAPE, HALFTONE_MEMORY;
 *          HALFTONE_USAGE for an option out of range, a context beyond the positions of the model,
 *          a missing or superfluous tokenizer; HALFTONE_DEVICE if there is no such device */
HALFTONE_API halftone_status halftone_language_model_load(
    const halftone_context* context, const char* path, const halftone_language_options* options,
    halftone_language_model** model) HALFTONE_NOEXCEPT;
/** Ends a handle; NULL does nothing. */
HALFTONE_API void halftone_language_model_destroy(halftone_language_model* model) HALFTONE_NOEXCEPT;

/** Where it runs: "cpu", or a graphics card as options.device named it; "" if `model` is NULL. The
 *  text lives as long as the model. */
HALFTONE_API const char* halftone_language_model_device(const halftone_language_model* model)
    HALFTONE_NOEXCEPT;
/** Logits for each token: at least as many as the tokenizer has tokens. 0 if `model` is NULL. */
HALFTONE_API size_t halftone_language_model_vocabulary(const halftone_language_model* model)
    HALFTONE_NOEXCEPT;
/** Tokens that a sequence may have. 0 if `model` is NULL. */
HALFTONE_API size_t halftone_language_model_context(const halftone_language_model* model)
    HALFTONE_NOEXCEPT;
/** Sequences that the model remembers. 0 if `model` is NULL. */
HALFTONE_API size_t halftone_language_model_sequences(const halftone_language_model* model)
    HALFTONE_NOEXCEPT;
/** The token in front of every text; HALFTONE_NO_TOKEN if there is none or `model` is NULL. */
HALFTONE_API int32_t halftone_language_model_begin_token(const halftone_language_model* model)
    HALFTONE_NOEXCEPT;
/** 1 for tokens that end a text or an answer, else 0. */
HALFTONE_API int halftone_language_model_is_end_token(const halftone_language_model* model,
                                                      int32_t token) HALFTONE_NOEXCEPT;
/** Bytes of weights, keys and values that one more token reads.
 *  @param length  tokens in front of it
 *  @return HALFTONE_USAGE beyond the context */
HALFTONE_API halftone_status halftone_language_model_bytes_per_token(
    const halftone_language_model* model, size_t length, uint64_t* bytes) HALFTONE_NOEXCEPT;

/* ---- Text and tokens ---------------------------------------------------------------------- */

/** Memory of the caller's for tokens. */
typedef struct halftone_tokens {
  int32_t* data;   /**< [capacity]; may be NULL if capacity is 0 */
  size_t capacity; /**< tokens that there is room for */
  size_t count;    /**< set to the tokens that there are: if more than capacity, none is written */
} halftone_tokens;

/** Memory of the caller's for a text. */
typedef struct halftone_text {
  char* data;      /**< [capacity]; may be NULL if capacity is 0 */
  size_t capacity; /**< bytes that there is room for, with a terminating zero */
  size_t bytes;    /**< set to those of the text, without the zero: if not less than capacity,
                        nothing is written */
} halftone_text;

/** For halftone_language_model_tokenize(). */
typedef struct halftone_tokenize_options {
  size_t struct_bytes; /**< sizeof(halftone_tokenize_options) */
  int no_begin;        /**< nonzero: no token in front that begins a text */
  int control;         /**< nonzero: finds control tokens such as "<|im_start|>" in the text; else
                            they are plain text. Not for texts of others. */
} halftone_tokenize_options;

/** The tokens of a text.
 *  @param options  may be NULL
 *  @return HALFTONE_FORMAT if the text is not UTF-8; HALFTONE_OK also where there is too little
 *          room: compare count and capacity */
HALFTONE_API halftone_status halftone_language_model_tokenize(
    const halftone_language_model* model, const char* text,
    const halftone_tokenize_options* options, halftone_tokens* tokens) HALFTONE_NOEXCEPT;
/** The text of tokens. Control tokens have none. It may begin and end inside a character.
 *  @return HALFTONE_USAGE if there is no such token; HALFTONE_OK also where there is too little
 *          room */
HALFTONE_API halftone_status
halftone_language_model_detokenize(const halftone_language_model* model, const int32_t* tokens,
                                   size_t num_tokens, halftone_text* text) HALFTONE_NOEXCEPT;
/** The bytes of one token in the middle of a text; of a control token its name.
 *  @return as halftone_language_model_detokenize() */
HALFTONE_API halftone_status halftone_language_model_token_text(
    const halftone_language_model* model, int32_t token, halftone_text* text) HALFTONE_NOEXCEPT;

/* ---- Sequences ---------------------------------------------------------------------------- */

/** Appends tokens to a sequence and computes the logits of the token that follows.
 *  @param sequence  from 0 on
 *  @param tokens    [num_tokens], at least one
 *  @param logits    float32 [1, vocabulary]: behind the last token; [num_tokens, vocabulary]:
 * behind each of them. NULL: none are wanted
 *  @return HALFTONE_USAGE if there is no such sequence or token; HALFTONE_SHAPE if the size of the
 *          logits is neither; HALFTONE_UNSUPPORTED if the context is full; the sequence is then as
 *          it was */
HALFTONE_API halftone_status halftone_language_model_append(
    halftone_language_model* model, size_t sequence, const int32_t* tokens, size_t num_tokens,
    const halftone_output* logits) HALFTONE_NOEXCEPT;
/** Tokens that a sequence is continued with. */
typedef struct halftone_sequence_tokens {
  size_t sequence;       /**< from 0 on */
  const int32_t* tokens; /**< [num_tokens] */
  size_t num_tokens;     /**< at least one */
} halftone_sequence_tokens;

/** Appends tokens to each of several sequences, in runs that they share: weights are read once for
 *  all. Each gets the logits that it gets alone.
 *  @param parts   [num_parts], each of another sequence
 *  @param logits  float32 [num_parts, vocabulary], behind the last token of each; NULL: none are
 *                 wanted
 *  @return as halftone_language_model_append(); HALFTONE_USAGE if a sequence is named twice; all
 *          sequences are then as they were */
HALFTONE_API halftone_status halftone_language_model_append_each(
    halftone_language_model* model, const halftone_sequence_tokens* parts, size_t num_parts,
    const halftone_output* logits) HALFTONE_NOEXCEPT;
/** Number of tokens of a sequence.
 *  @return HALFTONE_USAGE if there is no such sequence */
HALFTONE_API halftone_status halftone_language_model_length(const halftone_language_model* model,
                                                            size_t sequence,
                                                            size_t* length) HALFTONE_NOEXCEPT;
/** Forgets all tokens from `length` on.
 *  @return HALFTONE_USAGE if there is no such sequence, or it is shorter */
HALFTONE_API halftone_status halftone_language_model_truncate(halftone_language_model* model,
                                                              size_t sequence,
                                                              size_t length) HALFTONE_NOEXCEPT;

/* ---- Generation --------------------------------------------------------------------------- */

/** Gets a text as it is written: each token with the text that is certain with it, which may be
 *  empty and ends between two characters; at the end HALFTONE_NO_TOKEN and the rest of the text, if
 *  there is one; and HALFTONE_NO_TOKEN without text before each 256 tokens of the prompt.
 *  @param text   [bytes], and a terminating zero; it lives during the call only
 *  @return 0 to go on, nonzero to stop: HALFTONE_END_INTERRUPTED */
typedef int (*halftone_token_callback)(void* user, int32_t token, const char* text, size_t bytes);

/** What is added to the logit of a token. */
typedef struct halftone_logit_bias {
  int32_t token; /**< that is meant */
  double bias;   /**< -100 and less: it is never drawn, if others are */
} halftone_logit_bias;
/** For halftone_language_model_generate() and halftone_language_model_answer(). A token is drawn
 *  after these steps on the logits: biases, repeat_penalty of the repeat_window, penalties for what
 * was written, top_k, top_p, min_p, temperature (docs/cli.md), and the same on every processor. */
typedef struct halftone_generate_options {
  size_t struct_bytes;       /**< sizeof(halftone_generate_options) */
  size_t sequence;           /**< of the model */
  size_t max_tokens;         /**< 0: 128; of an answer: until the context is full */
  double temperature;        /**< 0: always the highest logit */
  int top_k;                 /**< 0: 40; negative: all */
  double top_p;              /**< above 0, up to 1; 0: 0.95 */
  double min_p;              /**< up to 1; 0: 0.05; negative: all */
  double repeat_penalty;     /**< 0 or 1: none */
  size_t repeat_window;      /**< 0: 64 */
  uint64_t seed;             /**< of what is drawn */
  const char* const* stops;  /**< [num_stops] texts, in front of which the result ends */
  size_t num_stops;          /**< number of them */
  int control;               /**< nonzero: finds control tokens in the prompt */
  const char* chat_template; /**< of answers: "chatml", ..., text or file in Jinja; NULL: its own */
  halftone_token_callback on_token; /**< may be NULL */
  void* user;                       /**< for the callback */
  /** Nonzero: where a conversation leaves less than a quarter of the context for the answer, or
   *  max_tokens if that is less, its oldest turns are left out until it takes half. */
  int forgets;
  const char* json_schema; /**< of the text: JSON, or a file; "json": any object; NULL: any text */
  const char* grammar;     /**< the same in the notation of llama.cpp (GBNF), or a file with it */
  int lookup; /**< tokens to guess at most from what the text has said: 0: 15; negative: none */
  double presence_penalty;                 /**< -2 to 2; 0: none */
  double frequency_penalty;                /**< -2 to 2; 0: none */
  const halftone_logit_bias* logit_biases; /**< [num_logit_biases] */
  size_t num_logit_biases;                 /**< number of them */
  const char* regex;                       /**< json_schema as a regular expression; NULL: none */
} halftone_generate_options;

/** Why a generation ended. */
typedef enum halftone_end {
  HALFTONE_END_COUNT = 0,      /**< it has as many tokens as were asked for */
  HALFTONE_END_TOKEN = 1,      /**< an end token, which has no text; or a grammar allows no more */
  HALFTONE_END_TEXT = 2,       /**< a stop text */
  HALFTONE_END_CONTEXT = 3,    /**< the context is full */
  HALFTONE_END_INTERRUPTED = 4 /**< the callback stopped it */
} halftone_end;

/** "count", "token", "text", "context" or "interrupted"; "unknown" for any other number. The text
 * is never freed. */
HALFTONE_API const char* halftone_end_name(halftone_end end) HALFTONE_NOEXCEPT;

/** What was generated. Text and tokens belong to the model and live until its next generation. */
typedef struct halftone_generation {
  size_t struct_bytes;     /**< sizeof(halftone_generation), set by the caller */
  const char* text;        /**< [text_bytes] and a terminating zero, without the stop text. Bytes of
                                the model that are no UTF-8 became U+FFFD. */
  size_t text_bytes;       /**< of the text */
  const int32_t* tokens;   /**< [num_tokens], with the end token */
  size_t num_tokens;       /**< that were generated */
  halftone_end end;        /**< why it ended */
  size_t prompt_tokens;    /**< of the prompt, with those that the sequence had already */
  size_t reused_tokens;    /**< of the prompt, which the sequence had already */
  double prompt_seconds;   /**< for the prompt */
  double first_seconds;    /**< from the beginning to the first token */
  double generate_seconds; /**< for the tokens after the first one */
  size_t forgotten_messages; /**< of a conversation, which were left out to make room */
  size_t guessed_tokens;     /**< that were guessed before they were drawn */
  size_t accepted_tokens;    /**< of these, which were right */
} halftone_generation;

/** Continues a text token by token. Afterwards the sequence has the tokens of the prompt and of the
 *  result, but the last one.
 *  @param prompt   NULL: the tokens that the sequence has
 *  @param options  may be NULL
 *  @param result   may be NULL
 *  @return HALFTONE_USAGE if the prompt has no token or more than the context, before anything is
 *          run, or an option is out of range; HALFTONE_FORMAT if it is not UTF-8. A stopped
 *          generation is HALFTONE_OK. */
HALFTONE_API halftone_status halftone_language_model_generate(
    halftone_language_model* model, const char* prompt, const halftone_generate_options* options,
    halftone_generation* result) HALFTONE_NOEXCEPT;

/** Who has written a message. */
typedef enum halftone_role {
  HALFTONE_SYSTEM = 0,   /**< instructions, in front of the others */
  HALFTONE_USER = 1,     /**< the person */
  HALFTONE_ASSISTANT = 2 /**< the model */
} halftone_role;

/** A message of a conversation. */
typedef struct halftone_message {
  halftone_role role;  /**< who has written it */
  const char* content; /**< control tokens in it are plain text */
} halftone_message;

/** Answers the last message of a conversation, which is written as the template of the model says.
 *  The sequence keeps what was read, so that the next call reads only what is new.
 *  @param messages  [num_messages], the whole conversation
 *  @param options   may be NULL
 *  @param result    may be NULL; its text is the next message, of the assistant
 *  @return as halftone_language_model_generate(); HALFTONE_USAGE if the template refuses the
 *          conversation, as where users and assistants must alternate; HALFTONE_UNSUPPORTED if the
 *          model has no template, or it does what chat templates do not; HALFTONE_FORMAT if it is
 *          none */
HALFTONE_API halftone_status halftone_language_model_answer(
    halftone_language_model* model, const halftone_message* messages, size_t num_messages,
    const halftone_generate_options* options, halftone_generation* result) HALFTONE_NOEXCEPT;
/** Answers a conversation with what belongs to it, or continues its last message.
 *  @param request  JSON, as apply_chat_template() of the package transformers takes it:
 *
 *                      {"messages": [{"role": "user", "content": "Hi"}, ...],
 *                       "tools": [...], "documents": [...],
 *                       "continue_final_message": false, "enable_thinking": false, ...}
 *
 *                  Only messages must be there; members that are not named here are variables of
 *                  the template. Texts never become control tokens.
 *  @return as halftone_language_model_answer(); HALFTONE_FORMAT if the request is no such JSON;
 *          HALFTONE_USAGE if the template leaves out the message to continue */
HALFTONE_API halftone_status halftone_language_model_answer_json(
    halftone_language_model* model, const char* request, const halftone_generate_options* options,
    halftone_generation* result) HALFTONE_NOEXCEPT;
/** The text that halftone_language_model_answer() has the model continue.
 *  @param chat_template  "chatml", "llama3", ..., a template in Jinja or a file with one; NULL:
 *                        that of the model
 *  @return as halftone_language_model_answer(); HALFTONE_OK also where there is too little room */
HALFTONE_API halftone_status halftone_language_model_chat_prompt(
    const halftone_language_model* model, const halftone_message* messages, size_t num_messages,
    const char* chat_template, halftone_text* text) HALFTONE_NOEXCEPT;
/** The text that halftone_language_model_answer_json() has the model continue; with the member
 *  "add_generation_prompt": false it ends behind the last message.
 *  @param chat_template  as in halftone_language_model_chat_prompt()
 *  @return as halftone_language_model_answer_json() */
HALFTONE_API halftone_status halftone_language_model_chat_prompt_json(
    const halftone_language_model* model, const char* request, const char* chat_template,
    halftone_text* text) HALFTONE_NOEXCEPT;

/* ---- Evaluation --------------------------------------------------------------------------- */

/** For halftone_language_model_evaluate(): windows of a text, each a sequence of its own, that
 *  begin at token 0, stride, 2 stride, ... A token that windows share counts once, in the first one
 *  that has tokens in front of it. */
typedef struct halftone_evaluate_options {
  size_t struct_bytes; /**< sizeof(halftone_evaluate_options) */
  size_t window;       /**< tokens, at least 2; 0: 512, or the context if it is shorter */
  size_t stride;       /**< 1 to window; 0: window */
  size_t max_windows;  /**< to use, from the front; 0: all */
  int second_half;     /**< nonzero: counts only tokens behind the middle of a whole window, as
                            llama.cpp's llama-perplexity does */
  int (*progress)(void* user, double fraction); /**< fraction of the work, 0 to 1, that is done;
                                                     returns 0 to go on. May be NULL */
  void* user;                                   /**< for progress() */
} halftone_evaluate_options;

/** How well a model predicts a text. Standard errors take tokens for independent. */
typedef struct halftone_text_evaluation {
  size_t struct_bytes;     /**< sizeof(halftone_text_evaluation), set by the caller */
  size_t num_tokens;       /**< that count */
  size_t num_windows;      /**< that were run */
  double loss;             /**< mean of -log p(token), in nats */
  double loss_error;       /**< standard error of the loss */
  double perplexity;       /**< e^loss */
  double perplexity_error; /**< standard error of the perplexity */
} halftone_text_evaluation;

/** Perplexity of a text. Sequence 0 is overwritten.
 *  @param options  may be NULL
 *  @return HALFTONE_USAGE for an option out of range or if no token counts; HALFTONE_FORMAT if the
 *          text is not UTF-8, or logits are not numbers; HALFTONE_INTERRUPTED if progress() ended
 * it
 */
HALFTONE_API halftone_status halftone_language_model_evaluate(
    halftone_language_model* model, const char* text, const halftone_evaluate_options* options,
    halftone_text_evaluation* result) HALFTONE_NOEXCEPT;

/* ---- Quantization ------------------------------------------------------------------------- */

/** A type for the matrices whose name matches a shell pattern: * ? [...]. */
typedef struct halftone_type_rule {
  const char* pattern; /**< of the name in GGUF files: "blk.*.attn_v.weight" */
  const char* type;    /**< of GGUF such as "Q3_K", a vector basis such as "4x8", a number system as
                            "nvfp4", or "nested3+4" for options.bits; "keep" changes nothing */
} halftone_type_rule;

/** For halftone_language_quantize(). Types (of a recipe or given here), size_bytes, bits_per_weight
 *  and max_loss are four ways to say which type each matrix gets: use one. */
typedef struct halftone_language_quantize_options {
  size_t struct_bytes;      /**< sizeof(halftone_language_quantize_options) */
  const char* const* texts; /**< [num_texts] files in UTF-8 to fit to, such as the model will read;
                                 none if synthetic */
  size_t num_texts;         /**< number of them */
  const char* tokenizer;    /**< a file, for a model of llama2.c; else NULL */
  const char* recipe;       /**< a TOML file of types; NULL: none */
  const char* type;         /**< of the matrices in blocks; NULL: of the recipe, or as they are */
  const char* table_type;   /**< of embeddings and head; NULL: of the recipe, or the same as type or
                                 one of 4 bits */
  const halftone_type_rule* rules; /**< [num_rules] of single matrices; a later one wins */
  size_t num_rules;                /**< number of them */
  uint64_t size_bytes;       /**< of the file: the types of the least predicted loss; 0: by types */
  double bits_per_weight;    /**< the same for so many bits per weight of all matrices, 32 at most;
                                  0: by types */
  const char* recipe_output; /**< a file to write the types to; NULL: none */
  size_t samples;            /**< of the texts to fit to, at most; 0: 64 */
  int held_out;              /**< samples of the texts to judge by, which the fit does not see; 0:
                                  16; negative: none */
  size_t sample_tokens;      /**< of each sample; 0: 512 */
  int candidates;            /**< scales to try for each group of weights, 1 to 64; 0: 8 */
  int sweeps;                /**< passes that choose scales and codes anew by the outputs, 100 at
                                  most; 0: 2; negative: none */
  double damping;            /**< share of each input's second moment that is added to it: more
                                  trusts the texts less; 0: 0.05; negative: none */
  int no_rotation;           /**< nonzero: no rotations spread outliers over the channels */
  int decoded;               /**< nonzero: writes what codes represent as float32 */
  uint64_t seed;             /**< of the rotations */
  int synthetic;             /**< nonzero: fits to samples that the model writes itself */
  const char* state;         /**< a file that keeps what was fitted: the same call continues after
                                  an interruption, with the same bytes; NULL: none */
  int (*progress)(void* user, double fraction); /**< fraction of the work, 0 to 1, that is done;
                                                     returns 0 to go on. May be NULL */
  void* user;                                   /**< for progress() */
  int predict_loss; /**< nonzero: predicts the divergence of given types too, which takes longer */
  double max_loss;  /**< the types of the fewest bytes whose predicted divergence from the float
                         model is at most so much, in nats per token; 0: by types */
} halftone_language_quantize_options;

/** What became of a model that was quantized. */
typedef struct halftone_language_report halftone_language_report;

/** Quantizes a language model, fitted to texts. The file has the same bytes for any number of
 *  threads and any processor; halftone_language_model_load() reads it.
 *  @param context  its threads, SIMD target and memory limit hold for the work
 *  @param model    a GGUF file, a folder of Hugging Face or a *.bin file of llama2.c
 *  @param output   NAME.safetensors, or NAME.gguf but for a model of llama2.c; decoded weights of a
 *                  folder of Hugging Face may go to a new folder
 *  @param report   set to a new handle; may be NULL
 *  @return HALFTONE_USAGE for an option out of range, unknown types or several ways to choose them,
 *          rows that a type does not hold, or a text that is too short; HALFTONE_UNSUPPORTED also
 *          for a size or a loss that cannot be met; HALFTONE_INTERRUPTED if progress() ended it;
 *          HALFTONE_IO, HALFTONE_FORMAT, HALFTONE_SHAPE, HALFTONE_MEMORY. No file is written
 *          then. */
HALFTONE_API halftone_status
halftone_language_quantize(const halftone_context* context, const char* model, const char* output,
                           const halftone_language_quantize_options* options,
                           halftone_language_report** report) HALFTONE_NOEXCEPT;
/** Writes a language model in another form, without a fit: a GGUF file of a folder of Hugging Face,
 *  with the numbers that it has; or a model with the changes of an adapter, W + alpha/r B A (Hu et
 *  al., 2021, LoRA, equation 3), rounded to the type of W, or to F16 if W has codes.
 *  @param model    a GGUF file or a folder of Hugging Face
 *  @param output   NAME.gguf; with an adapter also a new folder, if the model is one
 *  @param lora     a folder of the package peft or a GGUF file; NULL: none
 *  @param report   set to a new handle, with sizes and warnings and without matrices; may be NULL
 *  @return HALFTONE_USAGE for another output, or a GGUF file without an adapter;
 *          HALFTONE_UNSUPPORTED for a change without a place, such as that of a head which is the
 *          embedding; HALFTONE_IO, HALFTONE_FORMAT, HALFTONE_MEMORY. Nothing is written then. */
HALFTONE_API halftone_status
halftone_language_convert(const halftone_context* context, const char* model, const char* output,
                          const char* lora, halftone_language_report** report) HALFTONE_NOEXCEPT;
/** Ends a handle; NULL does nothing. */
HALFTONE_API void halftone_language_report_destroy(halftone_language_report* report)
    HALFTONE_NOEXCEPT;

/** A report without its matrices. */
typedef struct halftone_language_summary {
  size_t struct_bytes;    /**< sizeof(halftone_language_summary), set by the caller */
  uint64_t input_bytes;   /**< of the model, in its files */
  uint64_t output_bytes;  /**< of the file written */
  double seconds;         /**< that the work took */
  double bits;            /**< of a weight: the mean over all matrices that were quantized */
  double predicted_loss;  /**< divergence from the float model in nats per token; negative unless
                               types were chosen for a size, or options.predict_loss */
  size_t fit_tokens;      /**< tokens that the model was fitted to */
  size_t held_out_tokens; /**< tokens that it was judged by */
  double fit_loss;        /**< of the float model on the samples that it was fitted to: mean of
                               -log p in nats per token */
  double held_out_loss;   /**< the same of the others; negative without them */
  size_t num_matrices;    /**< for halftone_language_report_matrix() */
  size_t num_warnings;    /**< for halftone_language_report_warning() */
} halftone_language_summary;

/** @return HALFTONE_USAGE if an argument is NULL */
HALFTONE_API halftone_status halftone_language_report_summary(
    const halftone_language_report* report, halftone_language_summary* summary) HALFTONE_NOEXCEPT;

/** A matrix of a quantized model. */
typedef struct halftone_quantized_matrix {
  size_t struct_bytes; /**< sizeof(halftone_quantized_matrix), set by the caller */
  const char* name;    /**< as in GGUF files; of experts with their number */
  const char* type;    /**< such as "4x8" */
  double bits;         /**< of a weight, with its share of the scales */
  size_t bytes;        /**< of codes and scales */
  double error; /**< of the outputs, relative: sum of E[(w x - q x)^2] / sum of E[(w x)^2], on
                     the samples held out or, without them, on those of the fit */
} halftone_quantized_matrix;

/** @return HALFTONE_USAGE for an index out of range */
HALFTONE_API halftone_status
halftone_language_report_matrix(const halftone_language_report* report, size_t index,
                                halftone_quantized_matrix* matrix) HALFTONE_NOEXCEPT;
/** A line for people; NULL for an index out of range. */
HALFTONE_API const char* halftone_language_report_warning(const halftone_language_report* report,
                                                          size_t index) HALFTONE_NOEXCEPT;

/* ---- Sensitivity -------------------------------------------------------------------------- */

/** For halftone_language_sensitivity(). Fields that halftone_language_quantize_options has too mean
 *  the same. */
typedef struct halftone_language_sensitivity_options {
  size_t struct_bytes;        /**< sizeof(halftone_language_sensitivity_options) */
  const char* const* texts;   /**< [num_texts] */
  size_t num_texts;           /**< number of them */
  const char* const* choices; /**< [num_choices] types such as "Q4_K" or "2x6" */
  size_t num_choices;         /**< number of them; 0: the types that halftone_language_quantize()
                                   chooses from for a size */
  const char* tokenizer;      /**< a file, for a model of llama2.c; else NULL */
  size_t samples;             /**< 0: 64 */
  int held_out;               /**< 0: 16; negative: none */
  size_t sample_tokens;       /**< 0: 512 */
  double damping;             /**< 0: 0.05; negative: none */
  int no_rotation;            /**< nonzero: no rotations with vector bases */
  uint64_t seed;              /**< of the rotations */
  int synthetic;              /**< nonzero: samples that the model writes itself */
  const char* state;          /**< a file; NULL: none */
  int (*progress)(void* user, double fraction); /**< may be NULL */
  void* user;                                   /**< for progress() */
} halftone_language_sensitivity_options;

/** What each matrix of a model loses in each type. */
typedef struct halftone_language_losses halftone_language_losses;

/** Predicts what each matrix of a language model loses in each type by itself; where a sum of
 * losses is small, it predicts that of several matrices. The result is the same for any number of
 * threads and any processor.
 *  @param model   as for halftone_language_quantize()
 *  @param losses  set to a new handle
 *  @return as halftone_language_quantize(); HALFTONE_USAGE for a type that comes twice;
 *          HALFTONE_UNSUPPORTED for recurrences, which have no gradient yet */
HALFTONE_API halftone_status
halftone_language_sensitivity(const halftone_context* context, const char* model,
                              const halftone_language_sensitivity_options* options,
                              halftone_language_losses** losses) HALFTONE_NOEXCEPT;
/** Ends a handle; NULL does nothing. */
HALFTONE_API void halftone_language_losses_destroy(halftone_language_losses* losses)
    HALFTONE_NOEXCEPT;

/** Losses without matrices and types. */
typedef struct halftone_losses_summary {
  size_t struct_bytes; /**< sizeof(halftone_losses_summary), set by the caller */
  size_t num_matrices; /**< for halftone_language_losses_matrix() */
  size_t num_types;    /**< for halftone_language_losses_type(), by rising bits */
  size_t num_warnings; /**< for halftone_language_losses_warning() */
  size_t samples;      /**< on which losses are predicted */
  size_t tokens;       /**< of each */
  int on_fit_samples;  /**< 1 if they are those of the fit, 0 if these do not know them */
  double model_loss;   /**< of the model itself on them: mean of -log p in nats per token */
} halftone_losses_summary;

/** @return HALFTONE_USAGE if an argument is NULL */
HALFTONE_API halftone_status halftone_language_losses_summary(
    const halftone_language_losses* losses, halftone_losses_summary* summary) HALFTONE_NOEXCEPT;

/** A matrix of a model, of experts all. */
typedef struct halftone_sensitive_matrix {
  size_t struct_bytes; /**< sizeof(halftone_sensitive_matrix), set by the caller */
  const char* name;    /**< as in GGUF files */
  const char* type;    /**< in the file of the model */
  size_t rows;
  size_t cols;
  size_t bytes; /**< in this type */
} halftone_sensitive_matrix;

/** @return HALFTONE_USAGE for an index out of range */
HALFTONE_API halftone_status
halftone_language_losses_matrix(const halftone_language_losses* losses, size_t index,
                                halftone_sensitive_matrix* matrix) HALFTONE_NOEXCEPT;
/** The name of a type; NULL for an index out of range. */
HALFTONE_API const char* halftone_language_losses_type(const halftone_language_losses* losses,
                                                       size_t index) HALFTONE_NOEXCEPT;

/** A matrix in a type. */
typedef struct halftone_matrix_loss {
  size_t struct_bytes; /**< sizeof(halftone_matrix_loss), set by the caller */
  double bits;         /**< of a weight, with its share of the scales */
  size_t bytes;
  double loss; /**< predicted divergence from the model in nats per token if it is the only
                    quantized matrix; negative if the matrix cannot have the type */
} halftone_matrix_loss;

/** @return HALFTONE_USAGE for an index out of range */
HALFTONE_API halftone_status
halftone_language_losses_loss(const halftone_language_losses* losses, size_t matrix, size_t type,
                              halftone_matrix_loss* loss) HALFTONE_NOEXCEPT;
/** A line for people; NULL for an index out of range. */
HALFTONE_API const char* halftone_language_losses_warning(const halftone_language_losses* losses,
                                                          size_t index) HALFTONE_NOEXCEPT;

#ifdef __cplusplus
}
#endif
