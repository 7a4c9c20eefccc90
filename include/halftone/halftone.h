// SPDX-License-Identifier: Apache-2.0
/// @file
/// Halftone in C: load a network, plan it, run it. Link libhalftone.
///
///     halftone_context* context = NULL;
///     halftone_model* model = NULL;
///     halftone_plan* plan = NULL;
///     halftone_session* session = NULL;
///     if (halftone_context_create(NULL, &context) != HALFTONE_OK ||
///         halftone_model_load(context, "model.circle", NULL, &model) != HALFTONE_OK ||
///         halftone_plan_create(model, NULL, &plan) != HALFTONE_OK ||
///         halftone_session_create(plan, &session) != HALFTONE_OK) {
///       fprintf(stderr, "%s\n", halftone_error_message());
///     }
///     float image[784], scores[10];
///     const halftone_input in = {image, sizeof image};
///     const halftone_output out = {scores, sizeof scores};
///     halftone_session_run(session, &in, 1, &out, 1);
///
/// Ownership. Every *_create() and *_load() gives the caller a handle, which the *_destroy() of the
/// same name ends. Handles may be destroyed in any order: a session keeps what it needs of its
/// plan, a plan of its model, a model of its context. Destroying NULL does nothing. Strings and
/// arrays that a function returns belong to the handle that it was given, and live as long.
///
/// Threads. Contexts, models and plans do not change: any threads may use them at once. A session
/// is for one thread at a time; several sessions of a plan may run at once. A handle must not be
/// destroyed while a call uses it.
///
/// Errors. Functions that can fail return a status; where it is not HALFTONE_OK, results are
/// unchanged and halftone_error_message() says in one line what was expected and what was found. No
/// function prints, ends the process, lets an exception out, or changes signal handlers, the
/// environment or any setting of the process.
///
/// Structs of options begin with their size, by which later versions know what an older caller has.
/// Zero in every other field, or NULL for the struct, means the default.
///
/// Stability. Within a major version, what is declared here stays, in source and in binary.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HALFTONE_VERSION_MAJOR 0 /**< of this header */
#define HALFTONE_VERSION_MINOR 1 /**< of this header */
#define HALFTONE_VERSION_PATCH 0 /**< of this header */

/** Marks what the library shows. */
#if defined(_WIN32)
#define HALFTONE_API
#else
#define HALFTONE_API __attribute__((visibility("default")))
#endif

/** In C++, functions throw nothing. */
#ifdef __cplusplus
extern "C" {
#define HALFTONE_NOEXCEPT noexcept
#else
#define HALFTONE_NOEXCEPT
#endif

/* ---- Errors ------------------------------------------------------------------------------- */

/** How a call ended. */
typedef enum halftone_status {
  HALFTONE_OK = 0,          /**< done */
  HALFTONE_USAGE = 1,       /**< an argument that the caller must change */
  HALFTONE_IO = 2,          /**< a file is missing or cannot be read or written */
  HALFTONE_FORMAT = 3,      /**< bytes that violate their format */
  HALFTONE_UNSUPPORTED = 4, /**< valid, but not among what Halftone handles */
  HALFTONE_SHAPE = 5,       /**< extents or sizes that do not fit together */
  HALFTONE_MEMORY = 6,      /**< more memory is needed than there is, or than the context allows */
  HALFTONE_DEVICE = 7,      /**< an accelerator failed or is absent */
  HALFTONE_INTERRUPTED = 8, /**< the work was asked to stop */
  HALFTONE_INTERNAL = 9     /**< a bug of Halftone */
} halftone_status;

/** "ok", "usage", ...; "unknown" for any other number. The text is never freed. */
HALFTONE_API const char* halftone_status_name(halftone_status status) HALFTONE_NOEXCEPT;

/** What went wrong in the last failed call of this thread, in one line; "" before. The text belongs
 * to the thread and lives until its next failed call. */
HALFTONE_API const char* halftone_error_message(void) HALFTONE_NOEXCEPT;

/** Version of the library, such as "0.1.0"; that of this header is HALFTONE_VERSION_MAJOR, ... */
HALFTONE_API const char* halftone_version(void) HALFTONE_NOEXCEPT;

/* ---- Context: what the calls of a program part may use ------------------------------------ */

/** Threads, SIMD target, memory limit and measured kernels, for the models loaded with it. Contexts
 * do not disturb each other. */
typedef struct halftone_context halftone_context;

/** For halftone_context_create(). */
typedef struct halftone_context_options {
  size_t struct_bytes;     /**< sizeof(halftone_context_options) */
  int threads;             /**< that one call may use; 0: one for each core; at most 1024 */
  const char* simd;        /**< "AVX2", "NEON", ...; NULL or "auto": the best of this processor */
  uint64_t memory_bytes;   /**< the most that one model, plan or session may take; 0: no limit */
  const char* tuning_file; /**< plans measure which kernels are fastest, and take what this file
                                holds; it may be missing. NULL: estimates decide. No result
                                changes. */
} halftone_context_options;

/** @param options  may be NULL
 *  @return HALFTONE_USAGE for threads out of range or a SIMD target that this processor lacks;
 *          HALFTONE_IO, HALFTONE_FORMAT for the tuning file */
HALFTONE_API halftone_status halftone_context_create(const halftone_context_options* options,
                                                     halftone_context** context) HALFTONE_NOEXCEPT;
/** Ends a handle; NULL does nothing. */
HALFTONE_API void halftone_context_destroy(halftone_context* context) HALFTONE_NOEXCEPT;

/** Threads that one call may use. 0 if `context` is NULL. */
HALFTONE_API int halftone_context_threads(const halftone_context* context) HALFTONE_NOEXCEPT;
/** Name of the SIMD target. NULL if `context` is NULL. */
HALFTONE_API const char* halftone_context_simd(const halftone_context* context) HALFTONE_NOEXCEPT;
/** Writes what plans have measured to the tuning file.
 *  @return HALFTONE_USAGE without such a file; HALFTONE_IO if it cannot be written */
HALFTONE_API halftone_status halftone_context_save_tuning(const halftone_context* context)
    HALFTONE_NOEXCEPT;

/* ---- Tensors ------------------------------------------------------------------------------ */

/** Type of the elements of a tensor. */
typedef enum halftone_type {
  HALFTONE_FLOAT32 = 0,
  HALFTONE_INT8 = 1,
  HALFTONE_UINT8 = 2,
  HALFTONE_INT32 = 3,
  HALFTONE_INT64 = 4,
  HALFTONE_BOOL = 5, /**< one byte, 0 or 1 */
  HALFTONE_INT16 = 6,
  HALFTONE_UINT16 = 7,
  HALFTONE_UINT32 = 8,
  HALFTONE_UINT64 = 9,
  HALFTONE_FLOAT64 = 10,
  HALFTONE_FLOAT16 = 11, /**< IEEE 754 binary16 */
  HALFTONE_BFLOAT16 = 12 /**< the upper half of a float32 */
} halftone_type;

/** "float32", ...; "unknown" for any other number. The text is never freed. */
HALFTONE_API const char* halftone_type_name(halftone_type type) HALFTONE_NOEXCEPT;
/** Bytes of an element; 0 for any other number. */
HALFTONE_API size_t halftone_type_bytes(halftone_type type) HALFTONE_NOEXCEPT;

/** An extent that is the number of samples, which halftone_plan_options::batch chooses; -k is k
 * times that number. In a model, also another extent that the file leaves open, which
 * halftone_plan_options::shapes chooses. */
#define HALFTONE_OPEN ((int64_t)-1)

/** An input or output: row-major elements. */
typedef struct halftone_tensor_info {
  const char* name;       /**< of the input or output */
  halftone_type type;     /**< of its elements */
  size_t rank;            /**< number of extents */
  const int64_t* extents; /**< [rank], negative where open */
  size_t bytes;           /**< of all elements; 0 if an extent is open */
} halftone_tensor_info;

/* ---- Models ------------------------------------------------------------------------------- */

/** A network: its graph and weights. */
typedef struct halftone_model halftone_model;

/** A shape for an input, in place of that of the file. */
typedef struct halftone_input_shape {
  const char* input;      /**< its name */
  const int64_t* extents; /**< [rank], HALFTONE_OPEN for the number of samples */
  size_t rank;            /**< number of extents */
} halftone_input_shape;

/** For halftone_model_load() and halftone_model_load_memory(). */
typedef struct halftone_load_options {
  size_t struct_bytes;                /**< sizeof(halftone_load_options) */
  const halftone_input_shape* shapes; /**< [num_shapes] */
  size_t num_shapes;                  /**< inputs that get a shape */
  int borrows; /**< halftone_model_load_memory(): nonzero to read weights in the caller's memory,
                    which must then outlive the model, its plans and sessions; 0: copy it */
  size_t max_iterations; /**< until a loop of the network counts as one without an end; 0: 10^6 */
} halftone_load_options;

/** Reads a circle, TFLite or ONNX file; the end of its name says which it is.
 *  @param path     its weights may be mapped: the file must not change while the model lives
 *  @param options  may be NULL
 *  @return HALFTONE_IO, HALFTONE_FORMAT, HALFTONE_UNSUPPORTED, HALFTONE_SHAPE, HALFTONE_MEMORY;
 *          HALFTONE_USAGE if the options name an input that the model lacks */
HALFTONE_API halftone_status halftone_model_load(const halftone_context* context, const char* path,
                                                 const halftone_load_options* options,
                                                 halftone_model** model) HALFTONE_NOEXCEPT;
/** The same from memory, whose first bytes say what it is. Weights in files of their own, as ONNX
 *  has them, are HALFTONE_FORMAT. */
HALFTONE_API halftone_status halftone_model_load_memory(const halftone_context* context,
                                                        const void* data, size_t bytes,
                                                        const halftone_load_options* options,
                                                        halftone_model** model) HALFTONE_NOEXCEPT;
/** Ends a handle; NULL does nothing. */
HALFTONE_API void halftone_model_destroy(halftone_model* model) HALFTONE_NOEXCEPT;

/** 0 if `model` is NULL. */
HALFTONE_API size_t halftone_model_num_inputs(const halftone_model* model) HALFTONE_NOEXCEPT;
/** 0 if `model` is NULL. */
HALFTONE_API size_t halftone_model_num_outputs(const halftone_model* model) HALFTONE_NOEXCEPT;
/** @return HALFTONE_USAGE for an index out of range */
HALFTONE_API halftone_status halftone_model_input(const halftone_model* model, size_t index,
                                                  halftone_tensor_info* info) HALFTONE_NOEXCEPT;
/** @return HALFTONE_USAGE for an index out of range */
HALFTONE_API halftone_status halftone_model_output(const halftone_model* model, size_t index,
                                                   halftone_tensor_info* info) HALFTONE_NOEXCEPT;

/* ---- Plans -------------------------------------------------------------------------------- */

/** A model made ready for a number of samples: a kernel for each step, packed weights, the layout
 * of a session's memory. */
typedef struct halftone_plan halftone_plan;

/** The order in which float32 layers add. */
typedef enum halftone_float_order {
  HALFTONE_FASTEST = 0,    /**< the last bits may depend on the processor */
  HALFTONE_FIXED_ORDER = 1 /**< the same bits on every processor */
} halftone_float_order;

/** For halftone_plan_create(). */
typedef struct halftone_plan_options {
  size_t struct_bytes; /**< sizeof(halftone_plan_options) */
  size_t batch;        /**< samples of a run; 0: that which the model is fixed to, or 1 */
  int threads; /**< that a run may use; 0: those of the context. With 1, a run gives the same
                    bits in every session and thread */
  int float_activations; /**< nonzero: no layer rounds its inputs to 8 bits */
  int float_order;       /**< of layers that compute in float32: a halftone_float_order */
  const char* device; /**< a graphics card such as "opencl:0" or "cuda", which runs the steps that
                           it has kernels for, with the same bits; NULL: the processor */
  const halftone_input_shape* shapes; /**< [num_shapes], of a model that leaves extents open beside
                                           the number of samples: one plan for each size */
  size_t num_shapes;                  /**< inputs that have a shape */
} halftone_plan_options;

/** @param options  may be NULL
 *  @return HALFTONE_USAGE for an option out of range, a batch that the model is not fixed to, or an
 *          open extent that no shape has;
 *          HALFTONE_UNSUPPORTED, HALFTONE_SHAPE, HALFTONE_MEMORY; HALFTONE_DEVICE if there is no
 *          such device, or it fails; then sessions and runs return it too */
HALFTONE_API halftone_status halftone_plan_create(const halftone_model* model,
                                                  const halftone_plan_options* options,
                                                  halftone_plan** plan) HALFTONE_NOEXCEPT;
/** Ends a handle; NULL does nothing. */
HALFTONE_API void halftone_plan_destroy(halftone_plan* plan) HALFTONE_NOEXCEPT;

/** 0 if `plan` is NULL. */
HALFTONE_API size_t halftone_plan_num_inputs(const halftone_plan* plan) HALFTONE_NOEXCEPT;
/** 0 if `plan` is NULL. */
HALFTONE_API size_t halftone_plan_num_outputs(const halftone_plan* plan) HALFTONE_NOEXCEPT;
/** As of the model, with all extents known. Outputs that the model encodes are float32.
 *  @return HALFTONE_USAGE for an index out of range */
HALFTONE_API halftone_status halftone_plan_input(const halftone_plan* plan, size_t index,
                                                 halftone_tensor_info* info) HALFTONE_NOEXCEPT;
/** The same of an output. */
HALFTONE_API halftone_status halftone_plan_output(const halftone_plan* plan, size_t index,
                                                  halftone_tensor_info* info) HALFTONE_NOEXCEPT;

/** Bytes that the sessions of a plan share: packed weights and constants. 0 if `plan` is NULL. */
HALFTONE_API size_t halftone_plan_weight_bytes(const halftone_plan* plan) HALFTONE_NOEXCEPT;
/** Bytes of each session: values and scratch. 0 if `plan` is NULL. */
HALFTONE_API size_t halftone_plan_session_bytes(const halftone_plan* plan) HALFTONE_NOEXCEPT;

/** A step of a plan. */
typedef struct halftone_step_info {
  const char* name;       /**< of the node */
  const char* operation;  /**< "FullyConnected", "Tanh", ... */
  const char* kernel;     /**< that computes it */
  const char* arithmetic; /**< "bits", "integers", "float", ... */
  const char* reason;     /**< why this kernel */
} halftone_step_info;

/** 0 if `plan` is NULL. */
HALFTONE_API size_t halftone_plan_num_steps(const halftone_plan* plan) HALFTONE_NOEXCEPT;
/** @return HALFTONE_USAGE for an index out of range */
HALFTONE_API halftone_status halftone_plan_step(const halftone_plan* plan, size_t index,
                                                halftone_step_info* info) HALFTONE_NOEXCEPT;

/* ---- Sessions ----------------------------------------------------------------------------- */

/** The memory that a plan runs in. */
typedef struct halftone_session halftone_session;

/** @return HALFTONE_MEMORY */
HALFTONE_API halftone_status halftone_session_create(const halftone_plan* plan,
                                                     halftone_session** session) HALFTONE_NOEXCEPT;
/** Ends a handle; NULL does nothing. */
HALFTONE_API void halftone_session_destroy(halftone_session* session) HALFTONE_NOEXCEPT;

/** Memory of the caller's for an input, which a run only reads. */
typedef struct halftone_input {
  const void* data; /**< the elements, row-major */
  size_t bytes;     /**< as halftone_tensor_info::bytes of the plan */
} halftone_input;

/** Memory of the caller's for an output. */
typedef struct halftone_output {
  void* data;   /**< where the elements go, row-major */
  size_t bytes; /**< as halftone_tensor_info::bytes of the plan */
} halftone_output;

/** Runs once, on the caller's memory. Nothing is copied, except: what is not aligned to its element
 *  type; an output that is also an input, a constant or another output. Kernels are bound to new
 *  addresses, which takes some microseconds, so reuse buffers where you can. What the network
 *  remembers, such as the variables of a TFLite file, goes on from run to run.
 *  @param inputs   [num_inputs], in the order of halftone_plan_input()
 *  @param outputs  [num_outputs]; none may overlap another or an input
 *  @return HALFTONE_SHAPE if a number or a size differs; HALFTONE_USAGE if memory is NULL or
 *          overlaps, or if another thread runs the session */
HALFTONE_API halftone_status halftone_session_run(halftone_session* session,
                                                  const halftone_input* inputs, size_t num_inputs,
                                                  const halftone_output* outputs,
                                                  size_t num_outputs) HALFTONE_NOEXCEPT;

/** Plans for inputs of other sizes, which later runs then take; outputs have other sizes too. A
 * size seen before is kept, in a cache of 512 MiB beside the size in use. Measuring steps ends.
 *  @param shapes  [num_shapes], of inputs by name, with a number for each extent; other inputs keep
 *                 their shapes
 *  @return HALFTONE_SHAPE if the model does not take them; HALFTONE_USAGE for the name of no input,
 *          another rank, a model without open extents, or if another thread runs the session; else
 *          as halftone_plan_create() */
HALFTONE_API halftone_status halftone_session_resize(halftone_session* session,
                                                     const halftone_input_shape* shapes,
                                                     size_t num_shapes) HALFTONE_NOEXCEPT;

/** The size of an output. Where extents depend on data, and the plan leaves them open, it is that
 * of the last run, which takes memory of 0 bytes for such an output, whose data may be NULL.
 *  @param info  receives the extents and the size; its arrays live until the next run
 *  @return HALFTONE_USAGE for an index out of range, before a run if extents depend on data, or if
 *          another thread runs the session */
HALFTONE_API halftone_status halftone_session_output(halftone_session* session, size_t index,
                                                     halftone_tensor_info* info) HALFTONE_NOEXCEPT;

/** Copies an output of the last run.
 *  @param output  memory of the size that halftone_session_output() tells
 *  @return HALFTONE_SHAPE for another size; else as halftone_session_output() */
HALFTONE_API halftone_status halftone_session_read(halftone_session* session, size_t index,
                                                   const halftone_output* output) HALFTONE_NOEXCEPT;

/** Makes the session forget: the next run begins as the first one did.
 *  @return HALFTONE_USAGE if another thread runs the session */
HALFTONE_API halftone_status halftone_session_reset(halftone_session* session) HALFTONE_NOEXCEPT;

/** Whether later runs measure their steps; without it they do not read the clock.
 *  @param on  nonzero or 0 */
HALFTONE_API halftone_status halftone_session_profile(halftone_session* session,
                                                      int on) HALFTONE_NOEXCEPT;
/** Time of a step in the last run that was measured, in nanoseconds; 0 before there was one.
 *  @return HALFTONE_USAGE for an index out of range */
HALFTONE_API halftone_status halftone_session_step_time(const halftone_session* session,
                                                        size_t step,
                                                        uint64_t* nanoseconds) HALFTONE_NOEXCEPT;

#ifdef __cplusplus
}
#endif
