import { expect } from 'chai';
import fc from 'fast-check';
import { standardFunctions } from '../library/standard-functions.ts';
import { celTypes, listOf, mapOf } from '../types/cel-type.ts';
import type { CelType } from '../types/cel-type.ts';
import { CelError, CostLimitError } from '../values/cel-error.ts';
import { ArrayList, EntryMap } from '../values/cel-value.ts';
import type { CelValue } from '../values/cel-value.ts';
import { CostMeter } from '../values/cost-meter.ts';
import { compileCel, isCelProblem } from './cel-expression.ts';
import type { CelExpression } from './cel-expression.ts';

const map = new EntryMap();
map.add('a', 1n);
map.add('b', 2n);

const variables: ReadonlyMap<string, readonly [type: CelType, value: CelValue | undefined]> = new Map([
  ['x', [celTypes.int, 7n]],
  ['text', [celTypes.string, 'hello']],
  ['any', [celTypes.dyn, 'text']],
  ['numbers', [listOf(celTypes.int), new ArrayList([1n, 2n, 3n])]],
  ['counts', [mapOf(celTypes.string, celTypes.int), map]],
  ['absent', [celTypes.int, undefined]],
]);

const scope = {
  functions: standardFunctions,
  variables: new Map(Array.from(variables, ([name, [type]]) => [name, type])),
};
const values = Array.from(variables.values(), ([, value]) => value);

function compiled(source: string): CelExpression {
  const result = compileCel(source, scope);
  if (isCelProblem(result)) throw new Error(result.problem);
  return result;
}

function run(source: string): CelValue {
  return compiled(source).evaluate(values, new CostMeter(1_000_000));
}

function problemOf(source: string): string {
  const result = compileCel(source, scope);
  return isCelProblem(result) ? (result.problem.split('\n')[0] ?? '') : 'no problem';
}

/**
 * Expressions that are true, by subject. They follow the definition of the language and the documentation of
 * Kubernetes.
 */
const truths: Readonly<Record<string, readonly string[]>> = {
  'integers of 64 bits': [
    '9223372036854775807 - 1 == 9223372036854775806',
    '-9223372036854775808 + 1 == -9223372036854775807',
    '9007199254740993 == 9007199254740992 + 1',
    '5 / 2 == 2 && -5 / 2 == -2 && -5 % 3 == -2',
    '0xFF == 255 && -0x10 == -16',
    '18446744073709551615u > 18446744073709551614u',
    '1u + 2u == 3u && 7u % 4u == 3u',
    '- -1 == 1',
  ],
  doubles: ['.5 + 1.5 == 2.0', '1.0 / 0.0 > 1.0e300', '1e3 == 1000.0', '-0.0 == 0.0', 'double("NaN") != double("NaN")'],
  'numbers of different types': [
    'dyn(1) == 1.0 && dyn(1u) == 1',
    '1 < 1.5 && 2u > 1.5 && 3 >= 3u',
    '9007199254740993 > 9007199254740992.0',
    'dyn(1) in {1u: true}',
    '{1: "a"}[dyn(1.0)] == "a"',
    'dyn([1]) == [1.0]',
  ],
  logic: [
    'true || 1 / 0 == 1',
    '1 / 0 == 1 || true',
    '!(1 / 0 == 1 && false)',
    '(false ? 1 / 0 : 2) == 2',
    'x > 5 ? x < 10 : false',
    'false < true && true > false',
    '!!true',
  ],
  'texts count characters': [
    'size("héllo") == 5 && "😀".size() == 1',
    '"a😀b".charAt(2) == "b"',
    '"a😀b".indexOf("b") == 2 && "a😀b".lastIndexOf("b") == 2',
    '"a😀b".substring(1, 2) == "😀" && "hello".substring(3) == "lo"',
    '"\\U0001F600" > "\\uffee"',
    '"abc" < "abd" && "ab" < "abc"',
  ],
  'literals of texts': [
    "'a' == \"a\" && '''a'b''' == \"a'b\"",
    'r"\\d" == "\\\\d" && R\'\\n\' != "\\n"',
    '"\\x41\\101\\u0041\\U00000041" == "AAAA"',
    '"""a\nb""" == "a\\nb"',
    'b"é" == b"\\xc3\\xa9" && b"\\377".size() == 1',
    'br"\\x" == b"\\\\x"',
  ],
  'functions of texts': [
    '"hello".contains("ell") && "hello".startsWith("he") && "hello".endsWith("lo")',
    '"a,b,c".split(",") == ["a", "b", "c"] && "a,b,c".split(",", 2) == ["a", "b,c"]',
    '"a,b".split(",", 0) == [] && "ab".split("") == ["a", "b"]',
    '["a", "b"].join("-") == "a-b" && ["a", "b"].join() == "ab" && [].join() == ""',
    '"hello".replace("l", "L") == "heLLo" && "hello".replace("l", "L", 1) == "heLlo"',
    '"ab".replace("", "-") == "-a-b-"',
    '"TacoCat".lowerAscii() == "tacocat" && "tacoCÆt".upperAscii() == "TACOCÆT"',
    '"  a ".trim() == "a"',
    '"hello".indexOf("l", 9) == -1 && "hello".lastIndexOf("l", 9) == -1 && "hello".lastIndexOf("l", 2) == 2',
    '"hello".indexOf("") == 0 && "hello".lastIndexOf("") == 5 && "hello".indexOf("", 2) == 2 && "".lastIndexOf("a") == -1',
    '"hello".indexOf("l", 3) == 3 && "hello".lastIndexOf("l") == 3 && "hello".indexOf("z") == -1',
    'strings.quote("a\\"b\\n") == "\\"a\\\\\\"b\\\\n\\""',
    '"%s has %s".format(["a", "b"]) == "a has b"',
    '"%d items".format([3]) == "3 items" && "%.2f".format([1.0]) == "1.00" && "%x".format([255]) == "ff"',
    '"%s is %d of %s".format(["a", 3, [1, 2]]) == "a is 3 of [1, 2]"',
    String.raw`"%s".format([{"b": 1, "a": 1u}]) == "{\"a\":1, \"b\":1}"`,
    String.raw`"%s".format([["a\n", "\"", "\x01"]]) == "[\"a\\n\", \"\\\"\", \"\\x01\"]"`,
    String.raw`"%s".format([[b"x", b""]]) == "[b\"x\", b\"\"]"`,
    '"%s %s".format([[2.5, 1e9], 2.5]) == "[2.500000, 1000000000.000000] 2.5" && "%s".format([double("Inf")]) == "+Inf"',
    String.raw`"%s".format([[duration("90s")]]) == "[duration(\"90s\")]" && "%s".format([[double("NaN")]]) == "[\"NaN\"]"`,
    '"%s%s%s".format([null, true, type(1)]) == "nulltrueint" && "%%%s%%".format(["x"]) == "%x%"',
    '"%.3f %f".format([1234567.5, -0.5]) == "1,234,567.500 -0.500000" && "%f%f".format(["NaN", "-Infinity"]) == "NaN-∞"',
    String.raw`"%.6e".format([1052.032911275]) == "1.052033\u202f×\u202f10⁰³" && "%e".format([2e-9]) == "2.000000\u202f×\u202f10⁻⁰⁹"`,
    '"%b %b %b".format([5, -5, true]) == "101 -101 1" && "%o %x %X".format([-11, -30, 30u]) == "-13 -1e 1E"',
    '"%x %X".format(["Hello", b"byte"]) == "48656c6c6f 62797465" && "%s".format([dyn(999999999999)]) == "999999999999"',
    '"%f".format([1e21]) == "1,000,000,000,000,000,000,000.000000" && "%.0f".format([1e22]).endsWith(",000")',
  ],
  'regular expressions': [
    '"foobar".matches("^foo") && matches("foobar", "o+b")',
    '!"foo".matches("^o")',
    '"abc 123".find("[0-9]+") == "123" && "abc".find("[0-9]+") == ""',
    '"1 2 3".findAll("[0-9]") == ["1", "2", "3"] && "1 2 3".findAll("[0-9]", 2) == ["1", "2"]',
    '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!".matches("^(a+)+$") == false',
  ],
  lists: [
    '[1, 2] + [3] == [1, 2, 3] && [1, 2][1] == 2',
    '2 in [1, 2] && !(3 in [1, 2])',
    '[1, 2, 3].isSorted() && !["b", "a"].isSorted() && [].isSorted()',
    '[1, 3].sum() == 4 && [1.5, 2.5].sum() == 4.0 && [duration("1m"), duration("1s")].sum() == duration("61s")',
    '[1, 3].min() == 1 && [1, 3].max() == 3 && ["a", "b"].max() == "b"',
    '[1, 2, 2, 3].indexOf(2) == 1 && [1, 2, 2, 3].lastIndexOf(2) == 2 && [1].indexOf(9) == -1',
    '[1, 2, 3].slice(1, 3) == [2, 3] && [1, 1, 2].distinct() == [1, 2] && [3, 1].sort() == [1, 3]',
    '[ip("1.1.1.1"), ip("2.2.2.2"), ip("1.1.1.1")].distinct().size() == 2 && [url("/a"), url("/b")].distinct().size() == 2',
    '[dyn(1), dyn(1.0), dyn(1u), dyn(1.5)].distinct().size() == 2 && [int, string].distinct().size() == 2',
    '[optional.of(1), optional.of(2), optional.none()].distinct().size() == 3',
    '[semver("1.0.0"), semver("1.0.1")].distinct().size() == 2 && [quantity("1k"), quantity("1000")].distinct().size() == 1',
    '[[1], [2, 3]].flatten() == [1, 2, 3] && [1, 2].reverse() == [2, 1] && lists.range(3) == [0, 1, 2]',
    '[1, 2].first().value() == 1 && [1, 2].last().value() == 2 && !numbers.slice(0, 0).first().hasValue()',
    'size([]) == 0 && [1].size() == 1',
  ],
  maps: [
    '{"a": 1}.a == 1 && {"a": 1}["a"] == 1 && "a" in {"a": 1}',
    '{1: "x"}[1] == "x" && {true: 1}[true] == 1',
    '{"constructor": 1}.constructor == 1 && {"__proto__": 1}.size() == 1',
    '{"a": 1, "b": 2} == {"b": 2, "a": 1} && {"a": 1} != {"a": 2}',
    'counts.size() == 2 && counts.b == 2',
    '{"a": null}.a == null',
    'has({"a": 1}.a) && !has({"a": 1}.b) && has({"a": null}.a)',
  ],
  macros: [
    'numbers.all(n, n > 0) && numbers.exists(n, n == 2) && numbers.exists_one(n, n > 2)',
    'numbers.map(n, n * 2) == [2, 4, 6] && numbers.map(n, n > 1, n * 2) == [4, 6]',
    'numbers.filter(n, n > 1) == [2, 3]',
    'counts.all(k, k != "c") && counts.map(k, counts[k]).sum() == 3',
    '[0, 2].exists(n, 4 / n == 2)',
    '![0, 2].all(n, 4 / n == 3)',
    '[1, 2].all(n, [3, 4].exists(m, m == n + 2))',
    '[].all(n, n > 0) && ![].exists(n, n > 0)',
    '[1].map(x, [2].map(x, x)) == [[2]]',
    '[[[1]], [[2, 3]]].flatten(2) == [1, 2, 3] && [[[1]]].flatten(0) == [[[1]]] && [[1]].flatten(9) == [1]',
    '[3, 1, 2].sortBy(x, -x) == [3, 2, 1] && ["bb", "a"].sortBy(s, s.size()) == ["a", "bb"] && [].sortBy(x, 1) == []',
    '[{"n": "b", "v": "1"}, {"n": "a", "v": "1"}].sortBy(e, e["v"]).map(e, e["n"]) == ["b", "a"]',
    '[[2, 1], [3]].sortBy(l, l.sortBy(x, x)[0])[0] == [2, 1]',
  ],
  'macros of two variables': [
    '[5, 6].all(i, v, v == i + 5) && [5, 6].exists(i, v, i == 1 && v == 6)',
    '[5, 6].existsOne(i, v, v > 5) && counts.exists(k, v, k == "b" && v == 2)',
    '[1, 2].transformList(i, v, i + v) == [1, 3] && [1, 2].transformList(i, v, v > 1, v) == [2]',
    'counts.transformMap(k, v, v + 1) == {"a": 2, "b": 3} && counts.transformMap(k, v, v > 1, v) == {"b": 2}',
    'counts.transformMapEntry(k, v, {v: k}) == {1: "a", 2: "b"}',
    'counts.transformList(k, v, v).sum() == 3',
  ],
  optionals: [
    'optional.of(1).hasValue() && !optional.none().hasValue() && optional.none().orValue(3) == 3',
    'counts[?"a"].orValue(0) == 1 && counts[?"z"].orValue(0) == 0 && counts.?b.value() == 2',
    'optional.none().or(optional.of(2)).value() == 2',
    'optional.unwrap([optional.of(1), optional.none()]) == [1] && [optional.none()].unwrapOpt().size() == 0',
    '{"a": {"b": 1}}.?a.?b.orValue(0) == 1 && {"a": {"b": 1}}.?z.?b.orValue(0) == 0',
    '{"a": {"b": 1}}.?a.b.value() == 1',
    '[?counts[?"z"], 1] == [1] && {?"k": counts[?"a"]} == {"k": 1}',
    'counts[?"a"].optMap(v, v + 1).value() == 2 && !counts[?"z"].optMap(v, v + 1).hasValue()',
    'counts[?"a"].optFlatMap(v, counts[?"b"]).value() == 2',
    'optional.ofNonZeroValue(0) == optional.none() && optional.of(1) == optional.of(1)',
    'numbers[?0].value() == 1 && !numbers[?9].hasValue()',
  ],
  conversions: [
    'int("-42") == -42 && int(3.9) == 3 && int(5u) == 5 && uint("7") == 7u',
    'double("1.5") == 1.5 && double(3) == 3.0 && bool("true")',
    'string(1) == "1" && string(1.0) == "1" && string(true) == "true" && string(2u) == "2"',
    'string(1000000.0) == "1e+06" && string(123456.75) == "123456.75" && string(2e-9) == "2e-09" && string(0.0001) == "0.0001"',
    'string(-0.0) == "-0" && string(1.5e300) == "1.5e+300"',
    'bytes("é") == b"\\xc3\\xa9" && string(b"abc") == "abc"',
    'type(1) == int && type("a") == string && type([]) == list && type({}) == map && type(null) == null_type',
    'type(1u) == uint && type(1.0) == double && type(b"") == bytes && type(int) == type',
    'type(duration("1s")) == google.protobuf.Duration',
    'dyn(any) == "text" && type(any) == string',
  ],
  times: [
    'duration("1h") > duration("59m") && duration("1h30m") == duration("90m") && duration("-1.5s") < duration("0")',
    'timestamp("2020-01-01T00:00:00Z") + duration("1h") == timestamp("2020-01-01T01:00:00Z")',
    'timestamp("2020-01-02T00:00:00Z") - timestamp("2020-01-01T00:00:00Z") == duration("24h")',
    'timestamp("2020-01-01T00:00:00.123456789Z") > timestamp("2020-01-01T00:00:00.123456788Z")',
    'timestamp("2020-02-03T04:05:06.789Z").getFullYear() == 2020',
    'timestamp("2020-02-03T04:05:06.789Z").getMonth() == 1 && timestamp("2020-02-03T04:05:06Z").getDate() == 3',
    'timestamp("2020-02-03T04:05:06Z").getDayOfYear() == 33 && timestamp("2020-02-03T04:05:06Z").getDayOfWeek() == 1',
    'timestamp("2020-02-03T04:05:06Z").getHours("+02:00") == 6 && timestamp("2020-07-03T04:05:06Z").getHours("Europe/Berlin") == 6',
    'timestamp("2020-02-03T04:05:06.789Z").getMilliseconds() == 789',
    'duration("3730s").getHours() == 1 && duration("3730s").getMinutes() == 62 && duration("90s").getSeconds() == 90',
    'string(duration("90s")) == "90s" && string(duration("1500ms")) == "1.5s"',
    'string(timestamp("2020-01-01T00:00:00.5+01:00")) == "2019-12-31T23:00:00.5Z"',
    'int(duration("1.5s")) == 1500000000',
    'int(timestamp("1970-01-01T00:01:00Z")) == 60 && timestamp(60) == timestamp("1970-01-01T00:01:00Z")',
  ],
  URLs: [
    'isURL("mailto:a@b.example?subject=x") && url("mailto:a@b.example").getScheme() == "mailto" && isURL("file:/etc/hosts")',
    'url("file:/etc/hosts").getEscapedPath() == "/etc/hosts" && url("urn:a:b?c=d").getQuery() == {"c": ["d"]}',
    'url("https://a.example/p?q=1#f").getQuery() == {"q": ["1"]} && url("/p#f").getEscapedPath() == "/p"',
    '!isURL("https://a.example#f") && !isURL("#f") && !isURL(":a") && !isURL("1a:b")',
    'isURL("https://a.example:80/p?q=1") && isURL("/path") && !isURL("not a url") && !isURL("")',
    'url("https://user@a.example:8080/x y?k=1&k=2&z=3").getHost() == "a.example:8080"',
    'url("https://a.example:8080/x").getHostname() == "a.example" && url("https://[::1]:80/").getHostname() == "::1"',
    'url("https://a.example:8080/x").getPort() == "8080" && url("https://a.example/").getPort() == ""',
    'url("HTTPS://a.example/x").getScheme() == "https" && url("/p").getScheme() == ""',
    'url("https://a.example/x y").getEscapedPath() == "/x%20y"',
    'url("https://a.example/?k=1&k=2&z=3").getQuery() == {"k": ["1", "2"], "z": ["3"]}',
    'url("https://a.example") == url("https://a.example") && url("https://a.example") != url("https://b.example")',
  ],
  quantities: [
    'isQuantity("1.5Gi") && isQuantity("20k") && !isQuantity("20 k") && !isQuantity("Gi")',
    'quantity("1Gi") == quantity("1024Mi") && quantity("500m").isLessThan(quantity("1"))',
    'quantity("50k").add(quantity("20k")) == quantity("70k") && quantity("50k").sub(20000) == quantity("30k")',
    'quantity("200M").compareTo(quantity("0.2G")) == 0 && quantity("1").isGreaterThan(quantity("-1"))',
    'quantity("5").isInteger() && quantity("5").asInteger() == 5 && !quantity("5m").isInteger()',
    'quantity("50.5").asApproximateFloat() == 50.5 && quantity("-3").sign() == -1 && sign(quantity("3")) == 1 && quantity("0").sign() == 0',
    'quantity("1e3") == quantity("1k") && quantity("1.5") == quantity("1500m")',
  ],
  'addresses and blocks': [
    'isIP("64:ff9b::192.0.2.1") && ip("64:ff9b::192.0.2.1") == ip("64:ff9b::c000:201") && isIP("::1.2.3.4")',
    '!isIP("1.2.3.4::") && !isIP("::1.2.3") && !isIP("1:2:3:4:5:6:7:1.2.3.4") && !isIP("::1.2.3.256")',
    'isIP("127.0.0.1") && isIP("::1") && !isIP("127.0.0.256") && !isIP("01.2.3.4") && !isIP("::ffff:1.2.3.4")',
    'ip("127.0.0.1").family() == 4 && ip("::1").family() == 6 && ip("127.0.0.1").isLoopback()',
    'ip.isCanonical("2001:db8::abcd") && !ip.isCanonical("2001:DB8::ABCD") && !ip.isCanonical("2001:db8:0::1")',
    'ip("fe80::1").isLinkLocalUnicast() && ip("224.0.0.1").isLinkLocalMulticast() && ip("0.0.0.0").isUnspecified()',
    'ip("192.168.0.1").isGlobalUnicast() && !ip("255.255.255.255").isGlobalUnicast()',
    'string(ip("2001:DB8::1")) == "2001:db8::1" && ip("2001:db8::1") == ip("2001:db8:0::1")',
    'isCIDR("10.0.0.0/8") && !isCIDR("10.0.0.0") && !isCIDR("10.0.0.0/33") && isCIDR("2001:db8::/32")',
    'cidr("10.0.0.0/8").containsIP("10.1.2.3") && !cidr("10.0.0.0/8").containsIP(ip("11.0.0.1"))',
    'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && !cidr("10.1.0.0/16").containsCIDR(cidr("10.0.0.0/8"))',
    'cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8") && cidr("10.0.0.0/8").prefixLength() == 8',
    'cidr("10.1.2.3/8").ip() == ip("10.1.2.3") && string(cidr("10.0.0.0/8")) == "10.0.0.0/8"',
  ],
  'semantic versions': [
    'isSemver("1.2.3-rc.1+build") && !isSemver("1.2") && !isSemver("v1.2.3") && isSemver("v1.2", true)',
    'semver("1.2.3").major() == 1 && semver("1.2.3").minor() == 2 && semver("1.2.3").patch() == 3',
    'semver("1.2.3").isLessThan(semver("1.10.0")) && semver("1.0.0-rc.1").isLessThan(semver("1.0.0"))',
    'semver("1.0.0-alpha.1").compareTo(semver("1.0.0-alpha.beta")) == -1',
    'semver("1.0.0+a") == semver("1.0.0+b") && semver("v01.2", true) == semver("1.2.0")',
  ],
  'named formats': [
    '!format.dns1123Label().validate("my-label").hasValue() && format.dns1123Label().validate("My").hasValue()',
    'format.named("uuid").hasValue() && !format.named("other").hasValue()',
    '!format.uuid().validate("123e4567-e89b-12d3-a456-426614174000").hasValue()',
    'format.date().validate("2021-13-01").hasValue() && !format.datetime().validate("2021-01-01T00:00:00Z").hasValue()',
    '!format.dns1035Label().validate("a1").hasValue() && format.dns1035Label().validate("1a").hasValue()',
    'format.dns1035Label().validate("a".replace("a", "aaaaaaaa").replace("a", "aaaaaaaa")).value() == ["must be no more than 63 characters"]',
    '!format.dns1123LabelPrefix().validate("a-").hasValue() && !format.labelValue().validate("").hasValue()',
  ],
  sets: [
    'sets.contains([1, 2, 3], [2]) && !sets.contains([1], [2]) && sets.contains([], [])',
    'sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [2])',
  ],
};

/** Expressions whose evaluation fails, each with the message of the error. */
const failures: readonly (readonly [source: string, message: string])[] = [
  ['9223372036854775807 + 1', 'integer overflow'],
  ['-9223372036854775808 / -1', 'integer overflow'],
  ['0u - 1u', 'unsigned integer overflow'],
  ['1 / 0', 'division by zero'],
  ['1 % 0', 'modulus by zero'],
  ['int("9223372036854775808")', 'integer overflow'],
  ['int(1e19)', 'integer overflow'],
  ['uint(-1)', 'unsigned integer overflow'],
  ['int("a")', "type conversion error from 'a' to 'int'"],
  ['{"a": 1}.b', 'no such key: b'],
  ['[1][5]', 'index out of bounds: 5'],
  ['[0, 2].all(n, 2 / n > 0)', 'division by zero'],
  ['[0, 2].exists_one(n, 2 / n > 0)', 'division by zero'],
  ['1 / 0 == 1 || false', 'division by zero'],
  ['any + 1 == 2', 'no such overload'],
  ['any.size() > 0 && any < 1', 'no such overload'],
  ['absent == 1', 'no such attribute(s): absent'],
  ['optional.none().value()', 'optional.none() dereference'],
  ['duration(1) == duration("1s")', "type conversion error from 'int' to 'google.protobuf.Duration'"],
  ['(text + "%d").format([dyn("a")])', 'decimal clause can only be used on integers, was given string'],
  ['(text + "%f").format([1])', 'fixed-point clause can only be used on doubles, was given int'],
  ['(text + "%f").format(["one"])', 'fixed-point clause can only be used on doubles, was given string'],
  ['(text + "%s").format([])', 'index 0 out of range'],
  ['(text + "%q").format([1])', 'could not parse formatting clause: unrecognized formatting clause "q"'],
  ['(text + "%").format([1])', 'unexpected end of string'],
  ['(text + "%s").format([ip("::1")])', 'types, durations, and timestamps, was given net.IP'],
  ['quantity("x").sign()', 'quantities must match the regular expression'],
  ['ip("1").family()', "IP Address '1' parse error"],
  ['[1].slice(1, 5)', 'cannot slice(1, 5), list is length 1'],
  ['numbers.slice(0, 0).min()', 'min called on empty list'],
  ['text.substring(9)', 'index out of range: 9'],
  ['text.substring(9, 2)', 'invalid substring range. start: 9, end: 2'],
  ['text.indexOf("l", -1)', 'index out of range: -1'],
  ['text.matches(text + "(")', 'Illegal regex'],
  ['timestamp("9999-12-31T23:59:59Z") + duration("1h")', 'timestamp overflow'],
  ['counts.transformMapEntry(k, v, {"a": v})', 'insert failed: key a already exists'],
];

/** Expressions that are refused before they run, and the first line of the message. */
const mistakes: readonly (readonly [source: string, problem: string])[] = [
  ['y > 1', "ERROR: <input>:1:1: undeclared reference to 'y' (in container '')"],
  ['x > "a"', "ERROR: <input>:1:3: found no matching overload for '_>_' applied to '(int, string)'"],
  ['x == "a"', "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, string)'"],
  ['x == null', "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, null)'"],
  ['1 == 1.0', "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, double)'"],
  ['x.y', "ERROR: <input>:1:2: type 'int' does not support field selection"],
  ['[1, "a"]', "ERROR: <input>:1:5: expected type 'int' but found 'string'"],
  ['{"a": 1, "b": "c"}', "ERROR: <input>:1:15: expected type 'int' but found 'string'"],
  ['x ? 1 : 2', "ERROR: <input>:1:3: found no matching overload for '_?_:_' applied to '(int, int, int)'"],
  [
    'x.all(i, true)',
    "ERROR: <input>:1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
  ],
  ['text.startsWith(1)', "ERROR: <input>:1:16: found no matching overload for 'startsWith' applied to 'string.(int)'"],
  ['nothing(1)', "ERROR: <input>:1:8: undeclared reference to 'nothing' (in container '')"],
  ['numbers.all(n, n)', "ERROR: <input>:1:12: found no matching overload for '_&&_' applied to '(bool, int)'"],
  ['numbers.all(1, true)', 'ERROR: <input>:1:13: argument must be a simple name'],
  ['has(x)', 'ERROR: <input>:1:5: invalid argument to has() macro'],
  ['cel.bind(y, 1, y)', "ERROR: <input>:1:1: undeclared reference to 'cel' (in container '')"],
  [
    '"%d".format(["a"])',
    'ERROR: <input>:1:14: error during formatting: decimal clause can only be used on integers, was given string',
  ],
  ['"%d".format([])', 'ERROR: <input>:1:12: index 0 out of range'],
  ['"%d".format([1, 2])', 'ERROR: <input>:1:12: too many arguments supplied to string.format (expected 1, got 2)'],
  [
    '"%s".format([x, [1, "a"]])',
    'ERROR: <input>:1:12: too many arguments supplied to string.format (expected 1, got 2)',
  ],
  ['"%y".format([x])', 'ERROR: <input>:1:12: could not parse formatting clause: unrecognized formatting clause "y"'],
  ['text.matches("(")', 'ERROR: <input>:1:14: invalid matches argument'],
  ['duration("1y") > duration("1s")', 'ERROR: <input>:1:10: invalid duration argument'],
  ...['2020-01-01T24:00:00Z', '2020-01-01t00:00:00Z', '2020-01-01T00:00:00z', '2020-01-01T00:00:60Z'].map(
    (text): readonly [string, string] => [
      `timestamp("${text}") == timestamp("2020-01-02T00:00:00Z")`,
      'ERROR: <input>:1:11: invalid timestamp argument',
    ],
  ),
  ['timestamp("now") == timestamp("2020-01-01T00:00:00Z")', 'ERROR: <input>:1:11: invalid timestamp argument'],
  ['x >', "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>'"],
  ['x > 1 2', "ERROR: <input>:1:7: Syntax error: mismatched input '2'"],
  ['"a', "ERROR: <input>:1:1: Syntax error: token recognition error at: '\"a'"],
  ['x # y', "ERROR: <input>:1:3: Syntax error: token recognition error at: '#'"],
  ['9223372036854775808', 'ERROR: <input>:1:1: invalid int literal'],
  ['for', 'ERROR: <input>:1:1: reserved identifier: for'],
  ['Person{name: 1}', "ERROR: <input>:1:7: undeclared reference to 'Person' (in container '')"],
  ['"a" in "abc"', "ERROR: <input>:1:5: found no matching overload for '@in' applied to '(string, string)'"],
  ['"\\uD800"', 'ERROR: <input>:1:2: unable to unescape string'],
  [`${'('.repeat(300)}1${')'.repeat(300)}`, 'ERROR: <input>:1:251: expression recursion limit exceeded: 250'],
];

describe('expressions of CEL [spec operators-language]', () => {
  for (const [subject, sources] of Object.entries(truths)) {
    describe(subject, () => {
      for (const source of sources) it(source.replaceAll('\n', '\\n'), () => expect(run(source)).to.equal(true));
    });
  }

  describe('errors of an evaluation', () => {
    for (const [source, message] of failures) it(source, () => expect(() => run(source)).to.throw(CelError, message));
  });

  describe('mistakes that are found before the evaluation', () => {
    for (const [source, problem] of mistakes)
      it(source.slice(0, 60), () => expect(problemOf(source)).to.equal(problem));
  });

  it('have a problem text that shows the source line of a mistake, with a mark below the mistake', () => {
    const result = compileCel('x > 1 &&\n  "é" == y', scope);
    expect(isCelProblem(result) && result.problem).to.equal(
      "ERROR: <input>:2:10: undeclared reference to 'y' (in container '')\n |   \"é\" == y\n | ...．.....^",
    );
  });

  it('have a set of the names of all variables that they read', () => {
    expect([...compiled('numbers.all(x, x > 0) && text != ""').references].sort()).to.deep.equal(['numbers', 'text']);
  });

  it('calculate with integers of 64 bits, and fail when a result overflows [spec operators-integers]', () => {
    const int = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(int, int, fc.constantFrom('+', '-', '*'), (a, b, sign) => {
        const exact = { '+': a + b, '-': a - b, '*': a * b }[sign];
        const fits = BigInt.asIntN(64, exact) === exact;
        const result = ((): CelValue | string => {
          try {
            return run(`${a} ${sign} ${b}`);
          } catch (error) {
            return (error as Error).message;
          }
        })();
        expect(result).to.equal(fits ? exact : 'integer overflow');
      }),
    );
  });

  it('never make the compiler throw: any sequence of tokens compiles to an expression or to a problem', () => {
    const pieces = fc.constantFrom(
      ...'x text numbers 1 1u 1.5 "a" ( ) [ ] { } . , ? : + - * && || ! in has all map in == < { "k": ?'.split(' '),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const result = compileCel(parts.join(' '), scope);
        expect(result).to.satisfy((each: object) => 'problem' in each || 'maxCost' in each);
      }),
    );
  });
});

describe('the cost of an evaluation [spec operators-cost]', () => {
  const long = new ArrayList(Array.from({ length: 100_000 }, (_, index) => BigInt(index)));
  const hostile = [
    'numbers.all(a, numbers.all(b, a + b >= 0))',
    'numbers.all(a, numbers.map(b, b).size() > 0)',
    'numbers.all(a, numbers == numbers + [1] || true)',
    'numbers.all(a, 1 / 0 == 1 || true)',
    'numbers.map(a, string(a)).join(",").find("(a|b)*c") == ""',
    'numbers.map(a, string(a)).join(",").matches("(a|[0-9])*x")',
    'numbers.all(a, numbers.map(b, string(b)).join().size() > 0)',
    'numbers.all(a, sets.contains(numbers, [a]))',
    'numbers.all(a, text.replace("", text).replace("", text).replace("", text).size() > 0 || true)',
    'numbers.all(a, timestamp("2020-01-01T00:00:00Z").getHours("Europe/Berlin") > 0 || true)',
  ];
  for (const source of hostile) {
    const tier = source.includes('numbers == numbers') ? ' [slow]' : '';
    it(`ends the evaluation when it exceeds the limit: ${source}${tier}`, () => {
      const meter = new CostMeter(1_000_000);
      const inputs = [...variables.keys()].map((name) => (name === 'numbers' ? long : variables.get(name)?.[1]));
      expect(() => compiled(source).evaluate(inputs, meter)).to.throw(CostLimitError);
    });
  }

  it('counts reads, calls and rounds of loops as Kubernetes does', () => {
    const costs: readonly (readonly [source: string, cost: number])[] = [
      ['x > 5', 2],
      ['x > 5 && x < 10', 4],
      ['text == "hello"', 2],
      ['text.contains("ell")', 2],
      ['numbers.all(n, true)', 11],
      ['numbers.size() > 2', 3],
      ['has(counts.a)', 1],
      ['counts.a == 1', 3],
      ['[1, 2].size() == 2', 12],
    ];
    for (const [source, cost] of costs) {
      const meter = new CostMeter(1000);
      compiled(source).evaluate(values, meter);
      expect([source, Math.round(meter.spent)]).to.deep.equal([source, cost]);
    }
  });
});
