// SPDX-License-Identifier: Apache-2.0
// Results for people (to_text) and for scripts (to_json; the keys are a contract, see docs/cli.md).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "halftone/api/crossbar.h"
#include "halftone/api/inspection.h"
#include "halftone/api/language_distillation.h"
#include "halftone/api/measure.h"
#include "halftone/api/number_systems.h"
#include "halftone/api/quantize.h"
#include "halftone/api/run.h"
#include "halftone/api/tensor_container.h"
#include "halftone/api/training.h"
#include "halftone/compress/evaluate.h"
#include "halftone/types/devices.hpp"

namespace halftone::report {

std::string to_text(const Inspection& inspection);
/// One line: format, number of operators, bytes.
std::string to_summary(const Inspection& inspection);
std::string to_json(const Inspection& inspection);

std::string to_text(const ContainerInspection& inspection);
std::string to_json(const ContainerInspection& inspection);
std::string to_text(const StoredTensor& tensor);
std::string to_json(const StoredTensor& tensor);

std::string to_text(const std::vector<NumberSystemInfo>& systems);
std::string to_json(const std::vector<NumberSystemInfo>& systems);
std::string to_text(const NumberSystemLevels& levels);
std::string to_json(const NumberSystemLevels& levels);

std::string to_text(const std::vector<v0::Device>& devices);
std::string to_json(const std::vector<v0::Device>& devices);

std::string to_text(const QuantizeReport& report);
std::string to_json(const QuantizeReport& report);

/// One line about a finished epoch, without a line feed.
/// @param index        of the epoch, from 0
/// @param has_teacher  whether its agreement is with teachers, else it is the accuracy
std::string to_line(std::size_t index, const train::EpochResult& epoch, bool has_teacher);
std::string to_text(const TrainReport& report);
std::string to_json(const TrainReport& report);

/// The last step or evaluation of a run of tuning in one line, without a line feed.
/// @param steps  of the whole run
std::string to_line(const train::TuneHistory& history, std::size_t steps, bool is_evaluated);
std::string to_text(const v0::LanguageDistillReport& report);
std::string to_json(const v0::LanguageDistillReport& report);

std::string to_text(const compress::Evaluation& evaluation);
std::string to_json(const compress::Evaluation& evaluation);

std::string to_text(const CrossbarReport& report);
std::string to_json(const CrossbarReport& report);

std::string to_text(const std::vector<OutputFile>& outputs);
std::string to_json(const std::vector<OutputFile>& outputs);

/// @param explain  adds why each kernel was chosen and why others were not
std::string to_text(const MeasuredPlan& measurement, bool explain);
std::string to_json(const MeasuredPlan& measurement);

}  // namespace halftone::report
