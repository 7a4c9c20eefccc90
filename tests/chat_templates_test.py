#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
r"""Conversations have the text that the models' own templates give them.

Usage: chat_templates_test.py CHAT_TEXTS

CHAT_TEXTS is the program of chat_texts.cc. The templates are those of published models, in Jinja;
parts that are about tools are left out, except where a template is recognized by them. Each is
rendered as the package transformers does it. The environment variable HALFTONE_SMOLLM2 may name a
GGUF file of SmolLM2, whose template is compared too. Skips with exit code 77 without jinja2 and numpy.
"""

import itertools
import json
import os
import pathlib
import subprocess
import sys

from python_test import skip

try:
    import jinja2.exceptions
    import jinja2.ext
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError as error:
    skip(f"{error}; pip install jinja2 numpy")

ALTERNATES = """{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ \
raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"""
CHATML = """{% for message in messages %}SYSTEM{{'<|im_start|>' + message['role'] + '\\n' + \
message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}\
{{ '<|im_start|>assistant\\n' }}{% endif %}"""
DEFAULT = """{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nTEXT\
<|im_end|>\\n' }}{% endif %}"""
SMOL = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


def with_default(text):
    return CHATML.replace("SYSTEM", DEFAULT.replace("TEXT", text))


QWEN15 = """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}\
{{ '<|im_start|>system\\nYou are a helpful assistant<|im_end|>\\n' }}{% endif %}\
{{'<|im_start|>' + message['role'] + '\\n' + message['content']}}\
{% if (loop.last and add_generation_prompt) or not loop.last %}{{ '<|im_end|>' + '\\n'}}{% endif %}\
{% endfor %}{% if add_generation_prompt and messages[-1]['role'] != 'assistant' %}\
{{ '<|im_start|>assistant\\n' }}{% endif %}"""

QWEN25 = r"""{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.' }}
    {%- endif %}
    {{- "\n\n# Tools\n\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
"""

QWEN3 = r"""{%- if tools %}
    {{- '<|im_start|>system\n' }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and reasoning_content) %}
                {{- '<|im_start|>' + message.role + '\n<think>\n' + reasoning_content.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}"""

LLAMA2 = """{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}\
{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}\
{% set system_message = false %}{% endif %}{% for message in loop_messages %}ALTERNATES\
{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + \
'\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}\
{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}\
{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}\
{% endfor %}""".replace("ALTERNATES", ALTERNATES)

LLAMA3 = """{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = \
'<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + \
'<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}\
{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant\
<|end_header_id|>\\n\\n' }}{% endif %}"""

LLAMA31 = r"""{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- This block extracts the system message, so we can slot it into the right place. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}

{#- System message #}
{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\n" }}
{%- endif %}
{{- "Cutting Knowledge Date: December 2023\n" }}
{{- "Today Date: " + date_string + "\n\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}

{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
"""

MISTRAL = """{{ bos_token }}{% for message in messages %}ALTERNATES{% if message['role'] == 'user' %}\
{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}\
{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are \
supported!') }}{% endif %}{% endfor %}""".replace("ALTERNATES", ALTERNATES)

MISTRAL_V1 = """{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}

{{- bos_token }}
{%- for message in loop_messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('After the optional system message, conversation roles must alternate') }}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {%- if loop.first and system_message is defined %}
            {{- ' [INST] ' + system_message + '\\n\\n' + message['content'] + ' [/INST]' }}
        {%- else %}
            {{- ' [INST] ' + message['content'] + ' [/INST]' }}
        {%- endif %}
    {%- elif message['role'] == 'assistant' %}
        {{- ' ' + message['content'] + eos_token}}
    {%- else %}
        {{- raise_exception('Only user and assistant roles are supported') }}
    {%- endif %}
{%- endfor %}
"""

MISTRAL_V3 = r"""{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}

{#- This block checks for alternating user/assistant messages, skipping tool calling messages #}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("After the optional system message, conversation roles must alternate user/assistant/user/assistant/...") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}

{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS]INNER[" }}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST]INNER" + system_message + "\n\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST]INNER" + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- ANSWER + eos_token}}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported, with the exception of an initial optional system message!") }}
    {%- endif %}
{%- endfor %}
"""

GEMMA = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not \
supported') }}{% endif %}{% for message in messages %}ALTERNATES{% if (message['role'] == \
'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}\
{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}\
{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}\
""".replace("ALTERNATES", ALTERNATES)

GEMMA3 = r"""{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '

' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '

' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '
' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model
'}}
{%- endif -%}
"""

PHI3_FIRST = """{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') %}\
{{'<|user|>' + '\\n' + message['content'] + '<|end|>' + '\\n' + '<|assistant|>' + '\\n'}}\
{% elif (message['role'] == 'assistant') %}{{message['content'] + '<|end|>' + '\\n'}}{% endif %}\
{% endfor %}"""
PHI3 = """{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>\\n' + \
message['content'] + '<|end|>\\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\\n' + \
message['content'] + '<|end|>\\n'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>\\n' + \
message['content'] + '<|end|>\\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}\
{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}"""
PHI4_MINI = """{% for message in messages %}{% if message['role'] == 'system' and 'tools' in message \
and message['tools'] is not none %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' \
+ message['tools'] + '<|/tool|>' + '<|end|>' }}{% else %}{{ '<|' + message['role'] + '|>' + \
message['content'] + '<|end|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}\
{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}"""
PHI4 = """{% for message in messages %}{% if (message['role'] == 'system') %}{{'<|im_start|>system\
<|im_sep|>' + message['content'] + '<|im_end|>'}}{% elif (message['role'] == 'user') %}\
{{'<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>'}}{% elif (message['role'] == \
'assistant') %}{{'<|im_start|>assistant<|im_sep|>' + message['content'] + '<|im_end|>'}}{% endif %}\
{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}"""
ZEPHYR = """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}"""
BITNET = """{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = \
message['role'] | capitalize + ': '+ message['content'] | trim + '<|eot_id|>' %}{{ content }}\
{% endfor %}{% if add_generation_prompt %}{{ 'Assistant: ' }}{% endif %}"""
DEEPSEEK = """{% set ns = namespace(is_first=false, system_prompt='') %}{%- for message in messages \
%}{%- if message['role'] == 'system' %}{% set ns.system_prompt = message['content'] %}{%- endif %}\
{%- endfor %}{{bos_token}}{{ns.system_prompt}}{%- for message in messages %}{%- if message['role'] == \
'user' %}{{'<\uff5cUser\uff5c>' + message['content']}}{%- endif %}{%- if message['role'] == \
'assistant' and message['content'] is not none %}{% set content = message['content'] %}{% if \
'</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}\
{{'<\uff5cAssistant\uff5c>' + content + '<\uff5cend\u2581of\u2581sentence\uff5c>'}}{%- endif %}\
{%- endfor %}{% if add_generation_prompt %}{{'<\uff5cAssistant\uff5c>THINK'}}{% endif %}"""


def mistral(inner, answer):
    return MISTRAL_V3.replace("INNER", inner).replace("ANSWER", answer)


TEMPLATES = [
    ("chatml", CHATML.replace("SYSTEM", "")),
    ("chatml", "{{ bos_token }}" + CHATML.replace("SYSTEM", "")),
    ("chatml", with_default("It\\'s \\\"you\\\".")),
    ("smollm2", with_default(SMOL)),
    ("qwen2", with_default("You are a helpful assistant.")),
    ("chatml", QWEN15),
    ("qwen2.5", QWEN25),
    ("qwen3", QWEN3),
    ("llama2", LLAMA2),
    ("llama3", LLAMA3),
    ("llama3", LLAMA3.replace(" | trim", "")),
    ("llama3.1", LLAMA31),
    ("mistral", MISTRAL),
    ("mistral", MISTRAL.replace("eos_token}}", "eos_token + ' '}}")),
    ("mistral-v1", MISTRAL_V1),
    ("mistral-v3", mistral(" ", '" " + message["content"]|trim')),
    ("mistral-tekken", mistral("", 'message["content"]')),
    ("gemma", GEMMA),
    ("gemma3", GEMMA3),
    ("phi3-first", PHI3_FIRST),
    ("phi3", PHI3),
    ("phi4-mini", PHI4_MINI),
    ("phi4", PHI4),
    ("zephyr", ZEPHYR),
    ("bitnet", BITNET),
    ("bitnet", BITNET.replace("{{ content }}", "{% if loop.index0 == 0 %}{% set content = "
                              "bos_token + content %}{% endif %}{{ content }}")),
    ("deepseek-r1", DEEPSEEK.replace("THINK", "<think>\\n")),
    ("deepseek-r1", DEEPSEEK.replace("THINK", "")),
]
CONTENTS = ["Hi", "  Why\u00a0?\n\n", "", "<think>\nso\n</think>\n\nHo <|im_end|>", "\u3000\t",
            "a</think>b</think>\n\nc", "\n<think>x<think>\ny", "{bos}{eos}\\n'\""]


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def compiled(jinja):
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                                extensions=[jinja2.ext.loopcontrols])
    environment.globals["raise_exception"] = raise_exception
    return environment.from_string(jinja)


def conversations():
    """Roles in turn, with and without a system message and a last answer, all contents."""
    contents = itertools.cycle(CONTENTS)
    for num_messages in (1, 2, 3, 4, 5):
        for system in (None, *CONTENTS[:4]):
            for _ in CONTENTS:
                messages = [] if system is None else [{"role": "system", "content": system}]
                for i in range(num_messages):
                    role = ("user", "assistant")[i % 2]
                    messages.append({"role": role, "content": next(contents)})
                next(contents)
                yield messages
    yield [{"role": "assistant", "content": "Hi"}]
    yield [{"role": "user", "content": "Hi"}, {"role": "user", "content": "Ho"}]


def rendered(template, job):
    try:
        return template.render(messages=job["messages"], bos_token=job["begin"],
                               eos_token=job["end"], add_generation_prompt=job["adds_answer"])
    except jinja2.exceptions.TemplateError:
        return None


def differences(program, template, jinja):
    """Conversations in all, and those that differ. The template is Jinja, or the name of a family."""
    # A generation prompt behind an answer is nothing that a program asks for.
    jobs = [{"template": template, "begin": "<s>", "end": "</s>", "messages": messages,
             "adds_answer": adds_answer}
            for messages in conversations() for adds_answer in (True, False)
            if not adds_answer or messages[-1]["role"] == "user"]
    done = subprocess.run([program], input="".join(json.dumps(job) + "\n" for job in jobs),
                          capture_output=True, check=True, encoding="utf-8")
    oracle = compiled(jinja)
    different = []
    for job, line in zip(jobs, done.stdout.splitlines(), strict=True):
        found, wanted = json.loads(line), rendered(oracle, job)
        if found.get("text") != wanted:
            different.append((job["messages"], wanted, found))
    return len(jobs), different


def check_templates(program, templates):
    for name, jinja in templates:
        jinja = jinja.replace("strftime_now", "no_such_function")  # today's date would differ
        # Some files have the line feeds of literals as they are.
        for text in (jinja, jinja.replace("\\n", "\n")):
            num_jobs, different = differences(program, text, text)
            assert not different, f"{name}: {different[0]}"
            print(f"{name}: {num_jobs} conversations are the same")


def check_families(program, templates):
    """A family writes what one of its templates does; an error where that drops a system message."""
    for family in dict.fromkeys(name for name, _ in templates):
        remaining = []
        for jinja in (jinja for name, jinja in templates if name == family):
            _, different = differences(program, family, jinja)
            remaining.append([each for each in different
                              if not (each[0][0]["role"] == "system" and "error" in each[2])])
        assert not min(remaining, key=len), f"family {family}: {min(remaining, key=len)[0]}"


def template_of_gguf(path):
    """The text of a key, without a library: 8 bytes of length behind the name and the type."""
    head = pathlib.Path(path).read_bytes()[:8_000_000]
    key = b"tokenizer.chat_template\x08\0\0\0"
    begin = head.index(key) + len(key)
    length = int.from_bytes(head[begin:begin + 8], "little")
    return head[begin + 8:begin + 8 + length].decode()


def main(program):
    templates = list(TEMPLATES)
    if "HALFTONE_SMOLLM2" in os.environ:
        templates.append(("smollm2", template_of_gguf(os.environ["HALFTONE_SMOLLM2"])))
    check_templates(program, templates)
    check_families(program, TEMPLATES)


if __name__ == "__main__":
    main(*sys.argv[1:])
