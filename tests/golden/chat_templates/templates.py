"""The templates and conversations of make.py: each construct by itself, and templates in the styles of published ones."""

VARIABLES = {
    "messages": [{"role": "system", "content": " Be brief.\n"}, {"role": "user", "content": "Größe & <b>?"}, {"role": "assistant", "content": "Hm"}],
    "numbers": [3, 1, 2],
    "words": ["pear", "Apple", "fig", "apple"],
    "person": {"name": "Ada", "born": 1815, "tags": ["x", "y"], "items": "shadowed", "more": {"city": "London"}},
    "people": [{"name": "Bo", "age": 30, "team": {"id": 2}}, {"name": "al", "age": 25, "team": {"id": 1}}, {"name": "Cy", "age": 30, "team": {"id": 2}}],
    "tree": [{"n": "a", "kids": [{"n": "b", "kids": []}, {"n": "c", "kids": [{"n": "d", "kids": []}]}]}],
    "text": "The quick\tbrown föx\njumps 🦊 over",
    "half": 2.5, "big": 1e22, "tiny": 1.5e-7, "yes": True, "no": False, "nothing": None, "empty": "",
}

CONSTRUCTS = [
    ("text without tags", "plain text\n"),
    ("the last newline is dropped", "a\n\n"),
    ("newlines of other systems", "a\r\nb\rc{{ '\\r\\n' }}"),
    ("trim_blocks takes one newline behind a tag", "{% if yes %}\n\na\n{% endif %}\nb{{ 1 }}\nc"),
    ("lstrip_blocks takes the spaces before a tag", "x\n   {% if yes %}  a\n \t{% endif %}y   {% if yes %}b{% endif %}\n  {{ 1 }}"),
    ("a plus keeps the spaces before a tag", "x\n   {%+ if yes +%}\na\n  {%+ endif %}"),
    ("a minus takes all white space", "x \n\n {%- if yes -%} \n a \n{%- endif -%}\n\n y {{- 1 -}} \n z"),
    ("comments", "a{# no #}b\n  {# trimmed #}\nc {#- left -#} d{#+ kept +#}\ne{# {{ x }} {% y %} #}"),
    ("raw", "{% raw %}\n{{ x }} {% y %}{# z #}\n{% endraw %}\na {%- raw -%} {{ b }} {%- endraw -%} c"),
    ("a brace that starts no tag", "{ {a} { {{ '{{' }} }} %} #}"),
    ("tags with dicts and brackets", "{{ {'a': {'b': [1]}}['a'] }}{{ {} }}{% if {'x': 1}['x'] %}y{% endif %}"),
    ("for with loop's variables", "{% for n in numbers %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}"
     "{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }} {{ loop.previtem }}<{{ n }}>{{ loop.nextitem }};{% endfor %}"),
    ("for with else", "{% for n in [] %}a{% else %}none{% endfor %}{% for n in numbers %}{{ n }}{% else %}none{% endfor %}"),
    ("else runs unless an iteration reached its end", "{% for n in [1] %}{% continue %}{% else %}A{% endfor %}{% for n in [1] %}{% break %}{% else %}B{% endfor %}"),
    ("for with a test", "{% for n in numbers if n > 1 %}{{ loop.index }}/{{ loop.length }}:{{ n }} {% else %}none{% endfor %}"),
    ("a test sees what the body has set", "{% set ns = namespace(done=false) %}{% for n in numbers if not ns.done %}{{ n }}{% set ns.done = true %}{% endfor %}"),
    ("a test does not know its loop", "{% for n in numbers if loop is undefined %}{{ n }}{% endfor %}"),
    ("for over a dict and its items", "{% for k in person %}{{ k }} {% endfor %}{% for k, v in person.items() %}{{ k }}={{ v }};{% endfor %}{% for k, v in person|items %}{{ k }}{% endfor %}"),
    ("for over text and ranges", "{% for c in 'aö🦊' %}[{{ c }}]{% endfor %}{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(10, 0, -4) %} {{ i }}{% endfor %}"),
    ("for unpacks nested tuples", "{% for a, (b, c) in [(1, (2, 3)), [4, [5, 6]]] %}{{ a }}{{ b }}{{ c }} {% endfor %}"),
    ("for in for", "{% for a in [1, 2] %}{% for b in [3, 4] %}{{ a }}{{ b }}{{ loop.index }} {% endfor %}{{ loop.index }};{% endfor %}"),
    ("a loop that recurs", "{% for item in tree recursive %}{{ loop.depth }}{{ item.n }}{% if item.kids %}({{ loop(item.kids) }}){% endif %}{% endfor %}"),
    ("break and continue", "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}"),
    ("cycle and changed", "{% for n in [1, 1, 2] %}{{ loop.cycle('a', 'b') }}{{ loop.changed(n) }} {% endfor %}"),
    ("lookahead in a loop", "{% for m in messages %}{% if not loop.last and loop.nextitem.role == 'assistant' %}{{ m.role }}{% endif %}{% endfor %}"),
    ("if, elif, else", "{% for n in [0, 1, 2, 3] %}{% if n == 0 %}a{% elif n == 1 %}b{% elif n == 2 %}c{% else %}d{% endif %}{% endfor %}"),
    ("set and its scope", "{% set x = 1 %}{% for i in [2] %}{{ x }}{% set x = i %}{{ x }}{% endfor %}{{ x }}{% if yes %}{% set x = 3 %}{% endif %}{{ x }}"),
    ("a variable set in a branch that does not run", "{% if no %}{% set text = 1 %}{% endif %}{{ text|length }}{% if no %}{% set other = 1 %}{% endif %}{{ other is defined }}"),
    ("set of tuples and namespaces", "{% set a, b = 1, 2 %}{% set ns = namespace(x=0) %}{% set ns.x, c = a + b, 5 %}{{ a }}{{ b }}{{ c }}{{ ns.x }}{{ ns }}"),
    ("set blocks", "{% set x %}\n  a {{ numbers }}\n{% endset %}[{{ x }}]{% set y | upper | trim %} b {% endset %}[{{ y }}]"),
    ("namespaces across loops", "{% set ns = namespace(n=0, seen=[]) %}{% for i in numbers %}{% set ns.n = ns.n + i %}{% set ns.seen = ns.seen + [i] %}{% endfor %}{{ ns.n }}{{ ns.seen }}"),
    ("macros", "{% macro f(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }} {{ f(1, c=3) }} {{ f(b=5, a=4) }} {{ f() }} {{ f.name }}{{ f.arguments }}"),
    ("macros with more arguments", "{% macro f(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, x=4) }}{{ f(*[5, 6], **{'y': 7}) }}"),
    ("macros see the variables around them", "{% macro f() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ f() }}{% for i in [1] %}{% set x = 2 %}{{ f() }}{% endfor %}"),
    ("macros that recur", "{% macro show(d) %}{% for k, v in d.items() %}{{ k }}:{% if v is mapping %}{ {{ show(v) }} }{% else %}{{ v }}{% endif %};{% endfor %}{% endmacro %}{{ show(person) }}"),
    ("call blocks", "{% macro box(t) %}<{{ t }}>{{ caller('x') }}</{{ t }}>{% endmacro %}{% call(v) box('b') %}{{ v }}{{ numbers[0] }}{% endcall %}"),
    ("filter blocks", "{% filter upper | replace('A', '-') %}abc {{ person.name }}{% endfilter %}"),
    ("with", "{% set x = 1 %}{% with x = 2, y = x %}{{ x }}{{ y }}{% endwith %}{{ x }}{{ y is defined }}"),
    ("generation", "a{% generation %}\n  b{% set x = 1 %}{{ numbers }}\n{% endgeneration %}{{ x is defined }}c"),
    ("print", "{% print numbers[0], 'x' %}"),
    ("undefined values", "[{{ missing }}]{{ missing is defined }}{{ missing|default('d') }}{{ missing == missing }}{{ missing|length }}{{ missing ~ 'x' }}"
     "{% for x in missing %}{% endfor %}{{ person.missing }}{{ person['missing'] is undefined }}{{ numbers[9] is undefined }}{{ not missing }}{{ 1 in missing }}{{ [missing] }}"),
    ("attributes of a dict are its methods first", "{{ person['items'] }}{{ person.items is callable }}{{ person.pop is defined }}{{ person.name }}{{ person.more.city }}"),
    ("lists cannot be changed", "{{ numbers.append is defined }}{{ numbers.count(1) }}{{ numbers.index(2) }}"),
    ("markup", "{{ '<a>'|e }}{{ '<a>'|safe + '<b>' }}{{ ('<a>'|safe) ~ '<b>' }}{{ '<i>%s</i>'|safe|format('<') }}{{ '<'|e|e }}{{ '<'|e|string is escaped }}"),
    ("cycler, joiner and dict", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.next() }}{% set j = joiner('; ') %}{{ j() }}1{{ j() }}2{{ dict(a=1, **{'b': 2}) }}{{ dict([(1, 2)]) }}"),
    ("generators are true and are used up", "{% set g = numbers|select('odd') %}{{ g is true }}{% if [] | select %}t{% endif %}{{ g|list }}{{ g|list }}"),
    ("a loop is an iterator too", "{% for n in numbers %}{{ loop|first }}{{ n in loop }}{% endfor %}"),
    ("a namespace may hold itself", "{% set ns = namespace(a=1) %}{% set ns.b = [ns] %}{{ ns }}{{ ns.b }}{{ ns.b[0].a }}"),
    ("a caller has no name", "{% macro f() %}{{ kwargs }}{% endmacro %}{% call f() %}{% endcall %}{% macro g() %}{{ caller.name }}{% endmacro %}{% call g() %}{% endcall %}"),
    ("functions outlive the call that made them", "{% set ns = namespace() %}{% macro f(x) %}{% macro g() %}{{ x }}{% endmacro %}{% set ns.g = g %}"
     "{% for i in [1, 2] if i %}{% set ns.l = loop %}{% break %}{% endfor %}{% endmacro %}{{ f(7) }}{{ ns.g() }}{{ ns.l.nextitem }}{{ ns.l.length }}"),
    ("a set block does not see the variable that it sets", "{% set empty %}[{{ empty }}]{% endset %}{{ empty }}"),
    ("a macro does not see a variable that is set later", "{% macro f() %}{{ text }}{% endmacro %}{{ f() }}{% set text = 2 %}{{ f() }}"),
    ("the end of the template ends raw and comments that are empty", "a{% raw %}"),
    ("the time", "{{ strftime_now('%Y-%m-%d %H:%M:%S.%f %d %b %A %% %j %z|%Z|') }}"),
    ("a message's text is the error", "{% if messages[0].role == 'system' %}{{ raise_exception('No ' ~ messages[0]['role'] ~ ' role: ' ~ messages[0].content) }}{% endif %}"),
]

EXPRESSIONS = [
    # Arithmetic and precedence.
    "[7 // 2, -7 // 2, 7 // -2, 7 % 3, -7 % 3, 7 % -3, 7.5 // 2, -7.5 % 2, 1 / 4, 6 / 3, 2 ** 10, 2 ** -1, -2 ** 2, 2 ** 3 ** 2]",
    "[1 + 2 * 3, (1 + 2) * 3, 1 - 2 - 3, 2 * 3 % 4, not 1 == 2, 1 ~ 2 * 3, -1|abs, 10 - 3|int, true + true, 1 == 1.0 == true]",
    "['a' * 3, 3 * [1, 2], (1,) * 2, [1] + [2], 'x' + 'y', 'n' ~ none ~ true ~ 1.0, 'a' 'b']",
    "[1 < 2 < 3, 1 < 3 < 2, 3 > 2 >= 2 != 1, 'a' < 'b', [1, 2] < [1, 3], 'Z' < 'a', 1 in [1], 'b' in 'abc', 2 not in numbers, 'name' in person, '' in '']",
    "[1 and 0, 0 or 'x', none or empty or [], yes and no or nothing, not not 5, 'a' if no else 'b', ('a' if no) is undefined]",
    "[1.0, 1e16, 1e15, 0.1 + 0.2, big, tiny, half, 1e-4, 1e-5, 123456789.125, -0.0, big * 1e300, 3e8|int]",
    "[0x1f, 0b101, 0o17, 1_000, 1_0.5_0, 1e3, 12.0]",
    # Text of values.
    "[none, true, 1, 'it''s', \"it's\", 'q\"', \"it's \\\"\", 'tab\\t', 'nl\\n', 'ü🦊', '\\x7f\\x00', {'a': (1,), 2: []}, (), (1, 2), '\\u200b']",
    "['\\x41\\u00e9\\U0001F98A\\101\\'\\\"\\\\\\q', \"a\\\nb\", 'é\\é']",
    # Slices and items.
    "['abcdef'[1:4], 'abcdef'[::-1], 'abcdef'[-2:], 'abcdef'[:-1], 'äöü🦊'[1:3], 'äöü🦊'[-1], 'abc'[5:], 'abcdef'[4:1:-2], text[4:9]]",
    "[numbers[1:], numbers[::-1], numbers[-1], numbers[:1], messages[1:]|length, (1, 2, 3)[1:], numbers[true], range(9)[2:5], range(9)[-1], numbers.0, person.tags.1]",
    # Methods of strings.
    "[' a b '.strip(), 'xxaxx'.strip('x'), '  a '.lstrip() ~ '|', ' a  '.rstrip() ~ '|', 'abc'.upper(), 'ÀB'.lower(), 'heLLo wORLD'.title(), 'hELLO x'.capitalize(), 'aB'.swapcase()]",
    "['a,b,,c'.split(','), ' a  b '.split(), 'a b c'.split(' ', 1), 'a.b.c'.rsplit('.', 1), 'a\\nb\\r\\nc\\n'.splitlines(), 'a\\nb'.splitlines(true), 'k=v=w'.partition('='), 'k=v=w'.rpartition('='), 'abc'.split('</think>')[-1]]",
    "['abc'.startswith('ab'), 'abc'.endswith(('x', 'c')), 'abc'.startswith('b', 1), 'banana'.find('an'), 'banana'.rfind('an'), 'banana'.count('a'), 'abc'.find('z'), 'öxö'.find('ö', 1), 'banana'.index('n')]",
    "['a-b-c'.replace('-', '+'), 'aaa'.replace('a', 'b', 2), 'ab'.replace('', '.'), '-'.join(['a', 'b']), ''.join('xyz'), 'x'.center(5, '*'), 'x'.ljust(3) ~ '|', '7'.rjust(3, '0'), '-7'.zfill(4)]",
    "['12'.isdigit(), 'a1'.isalnum(), 'aé'.isalpha(), ' \\t'.isspace(), 'ab'.islower(), 'AB'.isupper(), 'Ab Cd'.istitle(), ''.isdigit(), 'a_1'.isidentifier(), '½'.isnumeric(), 'é'.isascii()]",
    "['foobar'.removeprefix('foo'), 'foobar'.removesuffix('bar'), 'a\\tb'.expandtabs(4), 'Straße'.casefold(), 'straße'.upper(), 'ΌΣΟΣ'.lower()]",
    # Formats.
    "['%s is %d and %r' % ('a', 3.9, 'b'), '%5d|%-5d|%05d|%+d' % (42, 42, 42, 42), '%.2f %e %g' % (half, 12345.678, 0.0001), '%x %X %o %#x' % (255, 255, 8, 255), '%s' % 'x', '%(a)s-%(b)03d' % {'a': 1, 'b': 2}, '100%%' % (), '%c%c' % ('a', 98)]",
    "['{} {}'.format('a', 1), '{1}{0}'.format('a', 'b'), '{x}{y[0]}{z.name}'.format(x=1, y=[2], z=person), '{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd'), '{:05d} {:,} {:x} {:#b}'.format(42, 1234567, 255, 5), '{:.3f} {:e} {:%}'.format(half, half, half), '{!r} {{}}'.format('a'), '{:{}}|'.format('x', 4)]",
    "['{:.0}|{:.1}|{:.3}|{:#.1}|{:#}'.format(half, half, 1234567.0, half, big), '{:020,}|{:08_x}|{:+,.1f}'.format(1e300, 48879, 1234.56), '{0[1]}{}'.format(numbers), '%5c|%.3d|%#.4x|% d|%i' % ('x', 7, 255, 5, true), '%s' % [], 'x' % [1], 'x' % missing]",
    # Filters.
    "[words|join('-'), words|join, people|join(', ', attribute='name'), words|first, words|last, numbers|length, text|count, words|sort, words|sort(case_sensitive=true, reverse=true), people|sort(attribute='age,name')|map(attribute='name')|list]",
    "[numbers|sum, people|sum(attribute='age'), numbers|min, words|max, words|unique|list, numbers|reverse|list, 'abc'|reverse, range(7)|batch(3, 0)|list, range(7)|slice(3, 'x')|list]",
    "[people|map(attribute='team.id')|list, words|map('upper')|list, words|map('replace', 'p', 'b')|list, people|map(attribute='x', default=9)|list, people|selectattr('age', 'gt', 26)|map(attribute='name')|list, people|rejectattr('team.id', 'equalto', 2)|list|length, numbers|select('odd')|list, numbers|reject('in', [1, 2])|list]",
    "[people|groupby('age'), people|groupby('team.id')|map(attribute='grouper')|list, person|dictsort|first, {'b': 1, 'A': 2}|dictsort(reverse=true), {'b': 1, 'a': 2}|dictsort(by='value')]",
    "['<p title=\"x\">&\\''|escape, ' x '|trim, 'xyx'|trim('x'), 'a b-c(d e'|title, 'ABC'|lower, 'abc'|capitalize, 'a'|center(5), 'one two three four'|truncate(9), 'one two three four'|truncate(9, true, '~', 0), 'one two'|wordcount, 'a b/c?ü'|urlencode, {'a b': 1}|urlencode]",
    "['a\\nb\\n\\nc'|indent(2), 'a\\nb'|indent(2, true), 'a\\n\\nb'|indent('> ', blank=true), '%s!'|format('hi'), '%(x)s'|format(x=3), 5|string + 'x', 'abc'|list, 'a.b'|replace('.', ''), 1.0|replace('.', ',')]",
    "['12'|int, ' 3 '|int, 'x'|int, 'x'|int(5), '0x1F'|int(base=16), '7.9'|int, 7.9|int, none|int, '1_000'|int, '2.5'|float, 'y'|float, '1e3'|float, true|int, -3|abs, 2.5|round, 3.5|round, 2.675|round(2), 7|round, 1234.5|round(-2), 2.1|round(0, 'ceil'), 2.19|round(1, 'floor')]",
    "[empty|default('d'), empty|default('d', true), missing|d, nothing|default('n'), no|default('n', boolean=true), 0|default(1)]",
    "person|tojson", "[1, 2.0, none, true, 'ü\"\\n\\x01/', {'k': []}, {}, [[]], (1,), {1: 2, none: 3, true: 4, 1.5: 5}]|tojson", "people[:2]|tojson(indent=2)", "{'b': [], 'a': {}}|tojson(sort_keys=true, indent=4)",
    "['é🦊'|tojson(ensure_ascii=true), [1, {'a': 2}]|tojson(separators=(',', ':')), 1e22|tojson, 'a<b>&'|tojson]",
    "[[]|truncate(5, true), '5'|int(0, 'x'), (1|unique) is defined, (1|batch(2)) is iterable, numbers[] is undefined, words|sort(reverse=1), 'a'|tojson(indent=person) ]",
    # Tests.
    "[1 is odd, 2 is even, 9 is divisibleby 3, 9 is divisibleby(2), 'a' is string, 1 is number, true is number, 1 is integer, true is integer, 1.0 is float, true is boolean, none is none, person is mapping, words is sequence, 'a' is sequence, person is sequence]",
    "[words is iterable, 1 is iterable, missing is undefined, words is defined, raise_exception is callable, 'ab' is lower, 'AB' is upper, 1 is eq 1, 1 is ne 2, 1 is lt 2, 2 is ge 2, 1 is in [1], 'a' is in 'abc', none is sameas none, yes is true, no is false, 'x' is not none, 'upper' is filter, 'nope' is filter, 'odd' is test, (1 is not odd) is false]",
    # Dicts and ranges.
    "[person.get('name'), person.get('x'), person.get('x', 1), person.keys()|list, {'a': 1}.values()|list, {'a': 1}.items()|list, {'a': 1}.keys(), {'a': 1}.items(), {'a': 1, 'a': 2}, {1: 'x'}[1.0], {'a': 1} == {'a': 1.0}, range(3), range(1, 9, 3), range(3)|list, 2 in range(3)]",
]

ERRORS = [
    "{{ missing.x }}", "{{ missing() }}", "{{ missing + 1 }}", "{{ none.x.y }}", "{{ person.x.y }}", "{{ 'a' + 1 }}", "{{ 1 < 'a' }}", "{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 1 % 0 }}", "{{ numbers.append(1) }}",
    "{{ person.update({}) }}", "{{ ''.__class__ ~ 1 ~ ''.__class__.x }}", "{% for x in 1 %}{% endfor %}", "{% for a, b in [[1]] %}{% endfor %}", "{% set person.name = 1 %}", "{{ missing|tojson }}", "{{ range(1000000) }}",
    "{{ {[]: 1} }}", "{{ 'a'.index('b') }}", "{{ none|length }}", "{{ [1, 'a']|sort }}", "{{ words|map('nope')|list }}", "{% if yes %}{{ 1|nope }}{% endif %}", "{{ 'x'()  }}", "{{ person('x') }}", "{{ '%d' % 'x' }}",
    "{{ '{}'.format() }}", "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "{% macro f(a) %}{% endmacro %}{{ f(b=1) }}", "{{ words|join(', ', nope=1) }}", "{{ raise_exception('no ' ~ 1) }}", "{{ nothing[1:2] }}", "{{ 'abc'[::0] }}",
    "{% set ns = namespace(_x=1) %}", "{{ numbers|first(1) }}", "{{ ','.join([1]) }}", "{% filter length %}x{% endfilter %}", "{{ missing|attr('x') }}", "{{ {person.keys(): 1} }}", "{{ '%5%' % () }}", "{{ '{:,x}'.format(1) }}",
    "{{ 'a'|sort('x') }}", "{{ 'a'.splitlines({}) }}",
    # Syntax.
    "{% if %}{% endif %}", "{% if yes %}", "{% endif %}", "{% for x numbers %}{% endfor %}", "{{ 1 +", "{{ (1 }}", "{{ 1 2 }}", "{% nope %}", "{# never ends", "{% raw %}x", "{{ 'x }}", "{{ a..b }}", "{{ x is }}", "{{ x | }}",
    "{{ 1|nope }}", "{{ 1 is nope }}", "{% break %}", "{% set 1 = 2 %}", "{% for loop in numbers %}{% endfor %}", "{{ f(a=1, 2) }}", "{{ f(a=1, a=2) }}", "{% macro f(a=1, b) %}{% endmacro %}", "{{ [1, 2 }}", "{{ {'a'} }}", "{{ $ }}",
]

CHATML = """{%- for message in messages -%}
{{- '<|im_start|>' + message.role + '\\n' -}}
{%- if message.content is string -%}{{- message.content -}}{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- endfor -%}
{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

DEFAULT_SYSTEM = """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}<|im_start|>system
You are a small helper<|im_end|>
{% endif %}<|im_start|>{{ message['role'] }}
{{ message['content'] or '' }}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

HEADERS = """{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not date_string is defined %}
    {%- set date_string = strftime_now("%d %b %Y") %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
<|start_header_id|>system<|end_header_id|>

Today Date: {{ date_string }}
{{ system_message }}
{%- if tools is not none %}

Call a function as JSON, one of:
    {%- for t in tools %}
        {{- "\\n" ~ (t | tojson(indent=4)) }}
    {%- endfor %}
{%- endif %}
<|eot_id|>
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls | length == 1 %}
            {{- raise_exception("Only one call at a time, got " ~ message.tool_calls | length) }}
        {%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n{"name": "' + call.name + '", "parameters": ' }}
        {{- call.arguments | tojson }}
        {{- "}<|eot_id|>" }}
    {%- else %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

ALTERNATING = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant') }}{% endif %}
{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}
{{ '<start_of_turn>' + role + '\\n' + (message['content'] or '') | trim + '<end_of_turn>\\n' }}{% endfor %}
{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}"""

INSTRUCTION = """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("After the optional system message, roles must alternate user/assistant/user/assistant/...") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS][" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" }}{%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST]" + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST]" + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS][" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 9 %}
                {{- raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}
            {%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}
            {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" + eos_token }}{%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- message["content"] + eos_token }}
    {%- elif message["role"] == "tool" %}
        {{- '[TOOL_RESULTS]{"content": ' + message.content|string + ', "call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported, got " ~ message.role) }}
    {%- endif %}
{%- endfor %}
"""

THINKING = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\nFunctions are within <tools></tools>:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
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
    {%- set content = message.content if message.content is string else '' %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or reasoning_content) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}{{- '\\n' }}{%- endif %}
                {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
                {{- '<tool_call>\\n{"name": "' ~ tool_call.name ~ '", "arguments": ' }}
                {{- tool_call.arguments if tool_call.arguments is string else tool_call.arguments | tojson }}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<|im_start|>user' }}{%- endif %}
        {{- '\\n<tool_response>\\n' + content + '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '<|im_end|>\\n' }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""

SIGNATURES = """{%- macro json_type(spec) %}
{%- set names = {"string": "str", "number": "float", "integer": "int", "boolean": "bool"} %}
{%- if spec.type == "array" -%}List[{{ json_type(spec["items"]) }}]
{%- elif spec.type is string -%}{{ names.get(spec.type, "dict") }}
{%- else -%}Any
{%- endif %}
{%- endmacro %}
{%- macro signature(tool) %}
def {{ tool.name }}(
{%- for name, spec in tool.parameters.properties.items() %}
{{- name }}: {{ json_type(spec) }}{% if name not in tool.parameters.required %} = {{ spec.default if spec.default is defined else 'None' }}{% endif %}
{%- if not loop.last %}, {% endif %}
{%- endfor %}):
    \"\"\"{{ tool.description }}\"\"\"
{% endmacro %}
{{- bos_token }}<|SYSTEM|>
{%- for tool in tools or [] %}{{ signature(tool.function) | indent(2) }}{% endfor %}
{%- for message in messages %}
{%- set role = {'system': 'SYSTEM', 'user': 'USER', 'assistant': 'CHATBOT', 'tool': 'RESULT'}[message.role] %}
<|{{ role | default('?') }}|>{{ message.content | default('', true) | trim }}
{%- for call in message.tool_calls or [] %}
Action: {{ {"tool_name": call.function.name, "parameters": call.function.arguments} | tojson(indent=1) }}
{%- endfor %}<|END|>
{%- endfor %}
{%- if add_generation_prompt %}<|CHATBOT|>{% endif %}"""

MARKERS = """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}
{% set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='') %}
{%- for message in messages %}{%- if message['role'] == 'system' %}{% set ns.system_prompt = ns.system_prompt + message['content'] %}{%- endif %}{%- endfor %}
{{bos_token}}{{ns.system_prompt}}
{%- for message in messages %}
{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}{{'<|User|>' + message['content']}}{%- endif %}
{%- if message['role'] == 'assistant' and message['content'] is none %}{%- set ns.is_tool = false -%}
{%- for tool in message['tool_calls']%}{%- if not ns.is_first %}{{'<|Assistant|><|tool_calls|>' + tool['type'] + '<|sep|>' + tool['function']['name'] + '\\n```json\\n' + tool['function']['arguments']|tojson + '\\n```<|end|>'}}{%- set ns.is_first = true -%}
{%- else %}{{'\\n' + tool['type'] + '<|sep|>' + tool['function']['name']}}{%- endif %}{%- endfor %}{%- endif %}
{%- if message['role'] == 'assistant' and message['content'] is not none %}
{%- if ns.is_tool %}{{'<|outputs_end|>' + message['content'] + eos_token}}{%- set ns.is_tool = false -%}
{%- else %}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{'<|Assistant|>' + content + eos_token}}{%- endif %}{%- endif %}
{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}
{%- if ns.is_output_first %}{{'<|outputs|><|output|>' + message['content'] + '<|end|>'}}{%- set ns.is_output_first = false %}
{%- else %}{{'\\n<|output|>' + message['content'] + '<|end|>'}}{%- endif %}{%- endif %}
{%- endfor -%}
{% if ns.is_tool %}{{'<|outputs_end|>'}}{% endif %}{% if add_generation_prompt and not ns.is_tool %}{{'<|Assistant|>'}}{% endif %}"""

STYLES = [("chatml", CHATML), ("default system", DEFAULT_SYSTEM), ("headers", HEADERS), ("alternating", ALTERNATING), ("instruction", INSTRUCTION),
          ("thinking", THINKING), ("signatures", SIGNATURES), ("markers", MARKERS)]

TOOLS = [
    {"type": "function", "function": {"name": "weather", "description": "The weather: \"now\" & <later>", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "description": "Größe"}, "days": {"type": "integer", "default": 1}, "hours": {
            "type": "array", "items": {"type": "number"}}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "add", "description": "Adds", "parameters": {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}}},
]


def _call(name, arguments, call_id="abcdef123"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def conversations():
    """(name, variables) of each conversation."""
    def user(text):
        return {"role": "user", "content": text}

    def assistant(text, **more):
        return {"role": "assistant", "content": text, **more}

    system = {"role": "system", "content": "Be <b>brief</b>.\n"}
    result = {"role": "tool", "content": "21", "tool_call_id": "abcdef123"}
    told = [("one question", [user(" Hi, wörld 🦊!\n")], None), ("a system message", [system, user("Hi")], None),
            ("several turns", [user("One"), assistant("<think>\nhm\n</think>\n\nTwo \n"), user("Three"), assistant("Four"), user("Five")], None),
            ("tools", [system, user("Weather?")], TOOLS),
            ("a tool's call", [user("Weather?"), assistant(None, tool_calls=[_call("weather", {"city": "Zürich", "days": 2})]), result], TOOLS),
            ("two calls and an answer", [system, user("W?"), assistant(None, tool_calls=[_call("weather", {"city": "Bern"}), _call("add", {"a": 1.5}, "b12345678")]), result,
                                         {"role": "tool", "content": "22", "tool_call_id": "b12345678"}, assistant("So."), user("Thanks")], TOOLS),
            ("wrong order", [assistant("x"), user("y")], None)]
    for i, (name, messages, tools) in enumerate(told):
        variables = {"messages": messages, "tools": tools, "add_generation_prompt": i % 3 != 2, "bos_token": "<s>", "eos_token": "</s>"}
        if i % 2:
            variables["enable_thinking"] = False
        yield name, variables
