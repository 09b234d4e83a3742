import {
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelValue,
  checkQualifiedName,
} from '@homeostat/controller-runtime/api';
import { overload } from '../types/declare-function.ts';
import type { Overload } from '../types/cel-function.ts';
import { ArrayList, CelObject, CelOptional } from '../values/cel-value.ts';
import type { Comparable } from '../values/equals.ts';
import { formats as schemaFormats } from '../../schema/judge/formats.ts';
import { objectAt, textAt } from './arguments.ts';

/** Returns the reasons why a text does not have a format; an empty list when it has the format. */
type Check = (text: string) => readonly string[];

class CelFormat extends CelObject implements Comparable {
  readonly typeName = 'kubernetes.NamedFormat';
  readonly name: string;
  readonly check: Check;

  constructor(name: string, check: Check) {
    super();
    this.name = name;
    this.check = check;
  }

  get identity(): string {
    return this.name;
  }
}

/** The maximum length of a text with a format. Longer texts are refused without a check. */
const maxLength = 65_536;

const checks: Readonly<Record<string, Check>> = {
  dns1123Label: checkDnsLabel,
  dns1123Subdomain: checkDnsSubdomain,
  dns1035Label: checkDns1035Label,
  qualifiedName: checkQualifiedName,
  dns1123LabelPrefix: prefixed(checkDnsLabel),
  dns1123SubdomainPrefix: prefixed(checkDnsSubdomain),
  dns1035LabelPrefix: prefixed(checkDns1035Label),
  labelValue: checkLabelValue,
  uri: ofSchema('uri', 'invalid URI'),
  uuid: ofSchema('uuid', 'does not match the UUID format'),
  byte: ofSchema('byte', 'invalid base64'),
  date: ofSchema('date', 'invalid date'),
  datetime: ofSchema('date-time', 'invalid datetime'),
};

/**
 * Returns the functions of named formats. A call such as `format.dns1123Label().validate(self.name)` returns an
 * optional: empty when the text has the format; otherwise with the list of the reasons why it does not.
 */
export function formatOverloads(): readonly Overload[] {
  const type = 'kubernetes.NamedFormat';
  const named = new Map(Object.entries(checks).map(([name, check]) => [name, new CelFormat(name, check)]));
  return [
    ...Array.from(named, ([name, format]) => overload(`format.${name}() ${type}`, () => format)),
    overload(`format.named(string) optional(${type})`, (args) => new CelOptional(named.get(textAt(args, 0)))),
    overload(`${type}::validate(string) optional(list(string))`, (args) => {
      const text = textAt(args, 1);
      const { check } = objectAt(CelFormat, args, 0);
      const found = text.length > maxLength ? [`must be no more than ${maxLength} characters`] : check(text);
      return found.length === 0 ? CelOptional.none : new CelOptional(new ArrayList(found));
    }),
  ];
}

function checkDns1035Label(text: string): readonly string[] {
  const long = text.length > 63 ? ['must be no more than 63 characters'] : [];
  if (/^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(text)) return long;
  const rule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
  return [
    ...long,
    `${rule} (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
  ];
}

/**
 * Returns the check for a prefix of a generated name. A prefix may end with a dash, since the generated part follows.
 */
function prefixed(check: Check): Check {
  return (text) => check(text.endsWith('-') ? `${text.slice(0, -1)}a` : text);
}

function ofSchema(name: string, message: string): Check {
  const format = schemaFormats.get(name);
  return (text) => (format === undefined || format(text) ? [] : [message]);
}
