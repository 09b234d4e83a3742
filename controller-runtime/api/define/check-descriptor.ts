import { brokenColumnRule } from './check-printer-columns.ts';
import { checkSchemas } from '../schema/check-schemas.ts';
import { quoteValue } from '../errors/field-cause.ts';
import { IndexSpecs } from '../indexes/index-specs.ts';
import { ModelError } from '../errors/model-error.ts';
import type { ModelDescriptor } from '../model/model.ts';
import { checkDnsLabel, checkDnsSubdomain } from '../object/names.ts';
import { unknownKeyOf } from '../base/unknown-key.ts';
import { brokenVersionsRule } from './check-versions.ts';

export interface DescriptorRules {
  /** The service domain. The domain and its subdomains are reserved (section 2.1 of the specification). */
  readonly serviceDomain: string;
  /**
   * The group in the plugin's manifest. The model's group must be equal to it, or a subdomain of it. If absent, the
   * model may have any group that is not reserved.
   */
  readonly ownGroup?: string;
  /** True for the server's own models, whose groups and plurals may be reserved ones. Default false. */
  readonly reservedAllowed?: boolean;
  /**
   * True for a model that was made from a stored definition. Its schemas were checked when the definition was written,
   * so they are not checked again. Default false.
   */
  readonly schemasJudged?: boolean;
}

/**
 * Domains of the server's own endpoints: the search of the audit log, and the archives of plugins. They are reserved,
 * because the router looks for a kind first: a kind whose group is one of these domains would hide the endpoint.
 */
const endpointDomains: readonly string[] = ['audit.internal', 'plugins.internal'];

// Plurals that are reserved, because they have another meaning as segments of a path: /watch/…, /namespaces/<ns>/…,
// /<name>/proxy.
const reservedPlurals: readonly string[] = ['watch', 'namespaces', 'proxy'];

type Rule = (descriptor: ModelDescriptor, rules: DescriptorRules) => string | undefined;

const attributeRules: readonly (readonly [attribute: keyof ModelDescriptor, rule: Rule])[] = [
  ['group', brokenGroupRule],
  [
    'version',
    ({ version }) =>
      mustMatch(version, /^v[1-9]\d*(?:(?:alpha|beta)[1-9]\d*)?$/, 'must be like v1, v1alpha1 or v2beta3'),
  ],
  [
    'kind',
    ({ kind }) => mustMatch(kind, /^[A-Z][A-Za-z0-9]{0,62}$/, 'must be PascalCase: at most 63 letters and digits'),
  ],
  ['plural', brokenPluralRule],
  ['singular', ({ singular }) => mustBeLabel(singular)],
  ['scope', ({ scope }) => mustBeOneOf(scope, ['Cluster', 'Namespaced'])],
  ['nameFormat', ({ nameFormat }) => mustBeOneOf(nameFormat, ['label', 'subdomain', 'path'])],
  ['subresources', ({ subresources }) => firstOf(subresources, (name) => mustBeOneOf(name, ['status']))],
  ['scale', brokenScaleRule],
  ['shortNames', ({ shortNames }) => firstOf(shortNames, mustBeLabel)],
  ['categories', ({ categories }) => firstOf(categories, mustBeLabel)],
  ['printerColumns', ({ printerColumns }) => brokenColumnRule(printerColumns)],
  ['validate', brokenValidateRule],
  ['deprecated', brokenDeprecationRule],
  ['versions', brokenVersionsRule],
  [
    'schemaName',
    ({ schemaName, components }) =>
      Object.hasOwn(components, schemaName) ? undefined : 'must name one of the components',
  ],
];

/**
 * Checks every registration rule that concerns a single model, also for each of its versions.
 * @throws ModelError with the first attribute and rule that fail.
 */
export function checkDescriptor(descriptor: ModelDescriptor, rules: DescriptorRules): void {
  const model = typeof descriptor.kind === 'string' && descriptor.kind !== '' ? descriptor.kind : '(no kind)';
  for (const [attribute, rule] of attributeRules) {
    const broken = rule(descriptor, rules);
    if (broken !== undefined) throw new ModelError(model, attribute, broken);
  }
  if (rules.schemasJudged !== true) checkSchemas(model, descriptor.components);
  new IndexSpecs(model, descriptor.indexes);
  for (const version of descriptor.versions ?? []) checkDescriptor(version.model, rules);
}

function brokenGroupRule({ group }: ModelDescriptor, rules: DescriptorRules): string | undefined {
  if (typeof group !== 'string') return must(group, 'must be a domain');
  if (rules.reservedAllowed === true)
    return group === '' || isDomain(group) ? undefined : must(group, 'must be a domain');
  if (group === '') return 'the empty group is reserved for the server; use a domain that you own';
  if (!isDomain(group)) return must(group, 'must be a domain: lowercase letters, digits, hyphens and dots');
  if (!group.includes('.')) return must(group, 'must be a domain with at least one dot');
  const own = [rules.serviceDomain, ...endpointDomains].find((domain) => isAtOrBelow(group, domain));
  if (own !== undefined) return must(group, `is reserved: ${own} and its subdomains belong to the server`);
  const { ownGroup } = rules;
  if (ownGroup !== undefined && !isAtOrBelow(group, ownGroup))
    return must(group, `must be the plugin's own group ${ownGroup}, or a subdomain of it`);
  return undefined;
}

function brokenPluralRule({ plural }: ModelDescriptor, rules: DescriptorRules): string | undefined {
  const isReserved = reservedPlurals.includes(plural) && rules.reservedAllowed !== true;
  return isReserved
    ? must(plural, `may not be ${reservedPlurals.join(', ')}: paths use these words`)
    : mustBeLabel(plural);
}

/** Checks that `validate` is a function. TypeScript checks this already; authors who use JavaScript need this check. */
function brokenValidateRule({ validate }: ModelDescriptor): string | undefined {
  return validate === undefined || typeof validate === 'function' ? undefined : must(validate, 'must be a function');
}

/** Checks the text of `deprecated`, which the server sends in a response header. */
function brokenDeprecationRule({ deprecated }: ModelDescriptor): string | undefined {
  const isSaid = typeof deprecated !== 'string' || /^[\x20-\x7e]{1,256}$/.test(deprecated);
  return isSaid ? undefined : must(deprecated, 'must be true, or 1 to 256 printable ASCII characters');
}

const scaleKeys: readonly string[] = ['specReplicasPath', 'statusReplicasPath', 'labelSelectorPath'];

/**
 * Checks the three paths of `scale`. Each path must begin with `.spec` or `.status`, depending on the attribute, and
 * must consist of names of fields only, without indexes of lists.
 */
function brokenScaleRule({ scale }: ModelDescriptor): string | undefined {
  if (scale === undefined) return undefined;
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
  return (
    unknownKeyOf(scale, scaleKeys) ??
    brokenScalePath('specReplicasPath', specReplicasPath, ['.spec.']) ??
    brokenScalePath('statusReplicasPath', statusReplicasPath, ['.status.']) ??
    (labelSelectorPath === undefined
      ? undefined
      : brokenScalePath('labelSelectorPath', labelSelectorPath, ['.spec.', '.status.']))
  );
}

function brokenScalePath(name: string, path: unknown, below: readonly string[]): string | undefined {
  const isPath = typeof path === 'string' && /^(?:\.[A-Za-z_][\w-]{0,62}){2,16}$/.test(path);
  if (isPath && below.some((prefix) => path.startsWith(prefix)) && !path.endsWith('.__proto__')) return undefined;
  return `${name} ${must(path, `must be fields joined by dots, below ${below.map((each) => each.slice(0, -1)).join(' or ')}`)}`;
}

function isAtOrBelow(group: string, domain: string): boolean {
  return group === domain || group.endsWith(`.${domain}`);
}

function isDomain(value: string): boolean {
  return checkDnsSubdomain(value).length === 0 && value.split('.').every((label) => checkDnsLabel(label).length === 0);
}

function mustBeLabel(value: unknown): string | undefined {
  const isLabel = typeof value === 'string' && checkDnsLabel(value).length === 0;
  return isLabel ? undefined : must(value, 'must be a lowercase DNS label: at most 63 letters, digits and hyphens');
}

function mustMatch(value: unknown, pattern: RegExp, rule: string): string | undefined {
  return typeof value === 'string' && pattern.test(value) ? undefined : must(value, rule);
}

function mustBeOneOf(value: unknown, allowed: readonly string[]): string | undefined {
  return allowed.includes(String(value)) ? undefined : must(value, `must be one of ${allowed.join(', ')}`);
}

function firstOf<T>(values: readonly T[], rule: (value: T) => string | undefined): string | undefined {
  return values.map(rule).find((broken) => broken !== undefined);
}

function must(value: unknown, rule: string): string {
  return value === undefined ? `is missing; it ${rule}` : `${quoteValue(value)} ${rule}`;
}
