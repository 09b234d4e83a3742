/**
 * The form of names. `label`: lowercase letters, digits and hyphens (section 2.4 of the specification). `subdomain`:
 * also dots, for kinds whose names are domains. `path`: all printable ASCII characters except spaces, `/` and `%`, for
 * kinds whose names are divided by colons.
 */
export type NameFormat = 'label' | 'subdomain' | 'path';

const maxNameLength = 253;
const maxLabelLength = 63;

// The maximum number of characters of a generated name before its 5 random characters. A generated name has at most 63
// characters, so that it can also be the value of a label.
const maxGeneratedBaseLength = 58;
const generatedSuffixLength = 5;
// The alphabet has no vowels, so that generated names form no words, and no 0, 1 and 3, which look like letters.
const generatedAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

// The regular expressions have no nested repetition over the same characters, so their time is linear in the length of
// any input. Nevertheless, the length is checked first.
const labelPattern = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const subdomainPattern = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const qualifiedPattern = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const nameMessage =
  "a name must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const labelMessage =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomainMessage =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const qualifiedMessage =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValueMessage =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/**
 * Returns the violations of a `metadata.name`; the empty list means valid. `label` allows at most 253 lowercase
 * letters, digits and hyphens, alphanumeric at both ends (section 2.4 of the specification). `subdomain` is a DNS
 * subdomain (RFC 1123). `path` is a segment of a path.
 */
export function checkName(value: string, format: NameFormat): readonly string[] {
  if (format === 'subdomain') return checkDnsSubdomain(value);
  if (format === 'path') return checkPathSegment(value);
  return check(value, { pattern: labelPattern, message: nameMessage, maxLength: maxNameLength });
}

/**
 * Returns the violations of the rules for a DNS label (RFC 1123, at most 63 characters). The name of a namespace must
 * be a DNS label.
 */
export function checkDnsLabel(value: string): readonly string[] {
  const message = subdomainPattern.test(value) ? 'must not contain dots' : labelMessage;
  return check(value, { pattern: labelPattern, message, maxLength: maxLabelLength });
}

/** Returns the violations of the rules for a DNS subdomain (RFC 1123, at most 253 characters). */
export function checkDnsSubdomain(value: string): readonly string[] {
  return check(value, { pattern: subdomainPattern, message: subdomainMessage, maxLength: maxNameLength });
}

/**
 * Returns the violations of a segment of a path: at most 253 printable ASCII characters, without `/`, `%` and spaces,
 * and not `.` or `..`.
 */
function checkPathSegment(value: string): readonly string[] {
  if (value === '.' || value === '..') return [`may not be '${value}'`];
  const illegal = ['/', '%'].filter((each) => value.includes(each));
  return [
    ...(value.length > maxNameLength ? [tooLong(maxNameLength)] : []),
    ...illegal.map((each) => `may not contain '${each}'`),
    ...(/^[\x21-\x7e]*$/.test(value) ? [] : ['may contain printable ASCII characters only, and no spaces']),
  ];
}

/**
 * Returns the violations of a qualified name, `[<prefix>/]<name>`: the form of label keys (specification, section 2.5)
 * and finalizers. The prefix is a DNS subdomain. The name has at most 63 characters, which may include upper case, `-`,
 * `_` and `.`.
 */
export function checkQualifiedName(value: string): readonly string[] {
  const slash = value.indexOf('/');
  if (slash !== value.lastIndexOf('/')) {
    return [
      `a qualified name ${qualifiedMessage} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  return [...(slash < 0 ? [] : checkPrefixPart(value.slice(0, slash))), ...checkNamePart(value.slice(slash + 1))];
}

/**
 * Returns the violations of a label's value. A valid value is empty, or has at most 63 characters of `[-A-Za-z0-9_.]`,
 * the first and the last of them alphanumeric.
 */
export function checkLabelValue(value: string): readonly string[] {
  if (value === '') return [];
  return check(value, { pattern: qualifiedPattern, message: labelValueMessage, maxLength: maxLabelLength });
}

/**
 * Returns the violations of a `metadata.generateName`. It must follow the rule for the names that are made from it, but
 * it may also end with a hyphen. As in Kubernetes, the character before this hyphen is not checked.
 */
export function checkGenerateName(prefix: string, format: NameFormat): readonly string[] {
  const body = prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;
  return checkName(body, format);
}

/**
 * Returns a generated name: the first 58 characters of the prefix, and 5 random characters from
 * `bcdfghjklmnpqrstvwxz2456789`. There are 27^5 (14 million) such endings; when the name is taken, the caller calls
 * this function again. `random` returns a number in [0, 1).
 */
export function generateName(base: string, random: () => number): string {
  let name = base.slice(0, maxGeneratedBaseLength);
  for (let drawn = 0; drawn < generatedSuffixLength; drawn += 1) {
    name += generatedAlphabet.charAt(Math.floor(random() * generatedAlphabet.length));
  }
  return name;
}

interface Rule {
  readonly pattern: RegExp;
  readonly message: string;
  readonly maxLength: number;
}

function check(value: string, rule: Rule): readonly string[] {
  const messages = value.length > rule.maxLength ? [tooLong(rule.maxLength)] : [];
  return rule.pattern.test(value) ? messages : [...messages, rule.message];
}

function checkPrefixPart(prefix: string): readonly string[] {
  if (prefix === '') return ['prefix part must be non-empty'];
  return checkDnsSubdomain(prefix).map((message) => `prefix part ${message}`);
}

function checkNamePart(name: string): readonly string[] {
  const rule = { pattern: qualifiedPattern, message: qualifiedMessage, maxLength: maxLabelLength };
  const messages = check(name, rule).map((message) => `name part ${message}`);
  return name === '' ? ['name part must be non-empty', ...messages] : messages;
}

function tooLong(maxLength: number): string {
  return `must be no more than ${maxLength} characters`;
}
