// SPDX-License-Identifier: Apache-2.0
// Templates that write calls of functions, as those of published models do.
#pragma once

#include <string>

namespace halftone::lm {

/// As Qwen 2.5 and others have it: each call within marks.
inline const std::string kMarkedCalls = R"({%- if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{- '\n' + message.content if message.content }}
{%- for call in message.tool_calls %}{{ '\n' }}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %})";

/// As Mistral's have it: a list of calls with ids behind a control token.
inline const std::string kListedCalls =
    R"({%- if tools %}[AVAILABLE_TOOLS] {{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' %}[INST] {{ message.content }}[/INST]
{%- elif message.tool_calls %}[TOOL_CALLS] [
{%- for call in message.tool_calls %}
{%- if call.id | length != 9 %}{{ raise_exception('ids have 9 characters') }}{% endif -%}
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}, "id": "{{ call.id }}"}
{%- if not loop.last %}, {% endif %}{% endfor %}]{{ eos_token }}
{%- else %} {{ message.content }}{{ eos_token }}{% endif %}{% endfor %})";

/// As Llama 3.1 has it: one call without any marks.
inline const std::string kBareCalls =
    R"({%- for message in messages %}<|{{ message.role }}|>
{%- if tools and loop.first %}{{ tools | tojson }}{% endif %}
{%- if message.tool_calls %}
{%- if message.tool_calls | length > 1 %}{{ raise_exception('one call only') }}{% endif -%}
{"name": "{{ message.tool_calls[0].function.name }}", "parameters": {{ message.tool_calls[0].function.arguments | tojson }}}
{%- else %}{{ message.content }}{% endif %}<|eot_id|>{% endfor %})";

/// As Qwen 3 Coder has it: parameters within marks, strings as they are.
inline const std::string kTaggedCalls = R"({%- if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{- '\n' + message.content if message.content }}
{%- for call in message.tool_calls %}{{ '\n' }}<tool_call>
<function={{ call.function.name }}>
{% for key, value in call.function.arguments | items %}<parameter={{ key }}>
{{ value | string if value is string else value | tojson }}
</parameter>
{% endfor %}</function>
</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %})";

/// As MiniMax M3 has it: keys are marks, in front of values and behind them.
inline const std::string kKeysAsMarks = R"({%- if tools %}{{ tools | tojson }}{% endif %}
{%- for message in messages %}<|{{ message.role }}|>{{ message.content }}
{%- for call in message.tool_calls %}<function={{ call.function.name }}>
{%- for key, value in call.function.arguments | items %}<{{ key }}>{{ value }}</{{ key }}>{% endfor %}
</function>{% endfor %}{% endfor %})";

/// As DeepSeek V3.2 has it: the mark of a parameter says whether it is a string.
inline const std::string kTypedCalls = R"({%- if tools %}{{ tools | tojson }}{% endif %}
{%- for message in messages %}<|{{ message.role }}|>{{ message.content }}
{%- if message.tool_calls %}<calls>
{% for call in message.tool_calls %}<invoke name="{{ call.function.name }}">
{% for key, value in call.function.arguments | items -%}
<parameter name="{{ key }}" string="{{ 'true' if value is string else 'false' }}">
{{- value if value is string else value | tojson }}</parameter>
{% endfor %}</invoke>
{% endfor %}</calls>{% endif %}<|eot_id|>{% endfor %})";

/// As LFM 2.5 has it: a list of calls in Python.
inline const std::string kPythonCalls = R"({%- if tools %}{{ tools | tojson }}{% endif %}
{%- for message in messages %}<|{{ message.role }}|>{{ message.content }}
{%- if message.tool_calls %}<|calls|>[
{%- for call in message.tool_calls %}{{ call.function.name }}(
{%- for key, value in call.function.arguments | items %}{{ key }}=
{{- "'" + value + "'" if value is string else value }}{{ ', ' if not loop.last }}{% endfor %})
{{- ', ' if not loop.last }}{% endfor %}]<|end_calls|>{% endif %}<|eot_id|>{% endfor %})";

/// As Kimi K2 has it: ids of names and numbers, in place of names.
inline const std::string kNumberedCalls = R"({%- if tools %}{{ tools | tojson }}{% endif %}
{%- for message in messages %}<|{{ message.role }}|>{{ message.content }}
{%- if message.tool_calls %}<calls>{% for call in message.tool_calls -%}
<call>{{ call.id }}<arguments>{{ call.function.arguments | tojson }}</call>
{%- endfor %}</calls>{% endif %}<|eot_id|>{% endfor %})";

/// As Muse has it: the receiver of a message, and the name once more.
inline const std::string kNamesTwice = R"({%- if tools %}{{ tools | tojson }}{% endif %}
{%- for message in messages %}<|{{ message.role }}|>
{%- if message.tool_calls %}
{%- for call in message.tool_calls %} to={{ call.function.name }}<call {{ call.function.name }}
{%- for key, value in call.function.arguments | items %} {{ key }}: "{{ value }}";{% endfor %}/>
{%- endfor %}{% else %} to=user: {{ message.content }}{% endif %}<|eot_id|>{% endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %})";

/// Lists as elements of XML, which is not followed.
inline const std::string kListsAsMarkup = R"({%- if tools %}{{ tools | tojson }}{% endif %}
{%- for message in messages %}<|{{ message.role }}|>{{ message.content }}
{%- for call in message.tool_calls %}<function={{ call.function.name }}>
{%- for key, value in call.function.arguments | items %}<{{ key }}>
{%- if value is string or value is not iterable %}{{ value }}{% else %}
{%- for each in value %}<item>{{ each }}</item>{% endfor %}{% endif %}</{{ key }}>{% endfor %}
</function>{% endfor %}{% endfor %})";

}  // namespace halftone::lm
