import { checkDnsLabel, checkDnsSubdomain, checkName } from '@homeostat/controller-runtime/api';
import type { FieldViolation, ScaleSubresource } from '@homeostat/controller-runtime/api';
import type { MeasuredWork } from '../turns/in-turns.ts';
import { checkClientConfig, checkReviewVersions } from '../builtin/check-webhooks.ts';
import { checkStructuralSchema } from './check-structural-schema.ts';
import { checkSelectableFields } from './check-selectable-fields.ts';
import { checkRules } from './check-rules.ts';
import type {
  CustomResourceDefinition,
  DefinitionNames,
  DefinitionSchema,
  DefinitionSpec,
  DefinitionVersion,
  DefinitionWebhook,
} from './definition.ts';
import { SchemaCost } from './schema-cost.ts';
import { DefinitionViolations } from './definition-violations.ts';

/** The maximum number of versions of one definition. The largest published definitions have five. */
const maxVersions = 64;

/**
 * Returns the violations of Kubernetes' rules for definitions, except the rules for the name and for the approval
 * annotation. CEL rules are checked only if there is no other violation. Also returns a violation for each part whose
 * evaluation would cost too much. Yields the work done, in units of about 5 µs.
 */
export function* checkDefinition(definition: CustomResourceDefinition): MeasuredWork<readonly FieldViolation[]> {
  const violations = new DefinitionViolations();
  const { spec } = definition;
  checkGroup(spec, violations);
  checkScope(spec, violations);
  checkNames(spec.names, violations);
  checkConversion(spec, violations);
  yield* checkVersions(spec.versions, violations);
  if (violations.found.length === 0) yield* checkRules(spec.versions, violations);
  return violations.found;
}

function checkGroup({ group }: DefinitionSpec, violations: DefinitionViolations): void {
  if (group === '') return violations.required('spec.group', '');
  for (const rule of checkDnsSubdomain(group)) violations.invalid('spec.group', group, rule);
  if (!group.includes('.')) violations.invalid('spec.group', group, 'should be a domain with at least one dot');
}

function checkScope({ scope, preserveUnknownFields }: DefinitionSpec, violations: DefinitionViolations): void {
  const scopes = ['Cluster', 'Namespaced'];
  if (scope.length === 0) violations.required('spec.scope', '');
  else if (!scopes.includes(scope)) violations.notSupported('spec.scope', scope, scopes);
  if (preserveUnknownFields === true) {
    const rule =
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
    violations.invalid('spec.preserveUnknownFields', true, rule);
  }
}

function checkNames(names: DefinitionNames, violations: DefinitionViolations): void {
  const { plural, kind, singular = '', listKind = '' } = names;
  checkLabel('spec.names.plural', plural, violations);
  // An empty name is replaced by the default.
  if (singular !== '') checkLabel('spec.names.singular', singular, violations);
  checkLabel('spec.names.kind', kind ?? '', violations);
  if (listKind !== '') checkLabel('spec.names.listKind', listKind, violations);
  if (kind !== undefined && kind !== '' && kind === listKind)
    violations.invalid('spec.names.listKind', listKind, 'kind and listKind may not be the same');
  for (const field of ['shortNames', 'categories'] as const) {
    for (const [index, each] of (names[field] ?? []).entries())
      checkLabel(`spec.names.${field}[${index}]`, each, violations);
  }
}

/** Checks that a name is a DNS label. In the fields `kind` and `listKind`, the name may have upper-case letters. */
function checkLabel(field: string, value: string, violations: DefinitionViolations): void {
  const isKind = field.endsWith('ind');
  if (value === '' || value === undefined) return violations.required(field, '');
  for (const rule of checkDnsLabel(isKind ? value.toLowerCase() : value)) violations.invalid(field, value, rule);
}

function checkConversion(
  { conversion, preserveUnknownFields }: DefinitionSpec,
  violations: DefinitionViolations,
): void {
  if (conversion === undefined) return;
  const { strategy, webhook } = conversion;
  const field = 'spec.conversion.webhook';
  if (strategy === 'Webhook') {
    if (preserveUnknownFields === true)
      violations.invalid('spec.conversion.strategy', strategy, 'must be None if spec.preserveUnknownFields is true');
    return checkConversionWebhook(webhook ?? {}, field, violations);
  }
  if (strategy !== 'None') return violations.notSupported('spec.conversion.strategy', strategy, ['None', 'Webhook']);
  if (webhook !== undefined)
    violations.forbidden(`${field}.clientConfig`, 'should not be set when strategy is not set to Webhook');
}

function checkConversionWebhook(webhook: DefinitionWebhook, field: string, violations: DefinitionViolations): void {
  const { clientConfig, conversionReviewVersions } = webhook;
  if (clientConfig === undefined)
    return violations.required(`${field}.clientConfig`, 'required when strategy is set to Webhook');
  for (const found of checkClientConfig(clientConfig, `${field}.clientConfig`)) violations.add(found);
  // The field may be absent, since older versions of the API do not have it.
  if (conversionReviewVersions === undefined || conversionReviewVersions === null) return;
  for (const found of checkReviewVersions(conversionReviewVersions, `${field}.conversionReviewVersions`))
    violations.add(found);
}

function* checkVersions(versions: readonly DefinitionVersion[], violations: DefinitionViolations): MeasuredWork<void> {
  if (versions.length > maxVersions) return violations.tooMany('spec.versions', versions.length, maxVersions);
  const stored = versions.filter(({ storage }) => storage);
  if (stored.length !== 1)
    violations.invalid('spec.versions', stored.length, 'must have exactly one version marked as storage version');
  const known = new Set<string>();
  const check = { violations, cost: new SchemaCost() };
  for (const [index, version] of versions.entries()) {
    const field = `spec.versions[${index}]`;
    if (known.has(version.name)) violations.invalid(`${field}.name`, version.name, 'must contain unique version names');
    known.add(version.name);
    yield* checkVersion(field, version, check);
  }
}

function* checkVersion(
  field: string,
  version: DefinitionVersion,
  check: { readonly violations: DefinitionViolations; readonly cost: SchemaCost },
): MeasuredWork<void> {
  const { violations } = check;
  const { name, schema, subresources, additionalPrinterColumns = [] } = version;
  const rules = [...checkDnsLabel(name), ...checkName(name, 'label')].slice(0, 1);
  for (const rule of rules) violations.invalid(`${field}.name`, name, rule);
  const root = schema?.openAPIV3Schema;
  const place = `${field}.schema.openAPIV3Schema`;
  if (root === undefined) violations.required(place, 'schemas are required');
  else {
    if (subresources?.status !== undefined) checkRootOfStatus(place, root, violations);
    yield* checkStructuralSchema(place, root, check);
  }
  checkDeprecation(field, version, violations);
  const scale = subresources?.scale;
  if (scale !== undefined) checkScale(`${field}.subresources.scale`, scale, violations);
  checkSelectableFields(`${field}.selectableFields`, version, violations);
  for (const [index, column] of additionalPrinterColumns.entries()) {
    if (column.jsonPath === '') violations.required(`${field}.additionalPrinterColumns[${index}].jsonPath`, '');
  }
}

/**
 * The keywords that a root schema may have if there is a status subresource. Others are refused, because Kubernetes
 * checks a status only by the schema of the field `status`.
 */
const rootKeywords: readonly string[] = [
  'description',
  'type',
  'format',
  'title',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'uniqueItems',
  'multipleOf',
  'required',
  'items',
  'properties',
  'externalDocs',
  'example',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
];

function checkRootOfStatus(field: string, root: DefinitionSchema, violations: DefinitionViolations): void {
  const wrong = Object.entries(root).find(([keyword, value]) => isUsed(value) && !rootKeywords.includes(keyword));
  const rule = `only ${rootKeywords.join(', ')} are allowed at the root of the schema if the status subresource is enabled`;
  if (wrong !== undefined) violations.invalid(field, wrong[0], rule);
}

function isUsed(value: unknown): boolean {
  return value !== false && value !== '' && value !== undefined && !(Array.isArray(value) && value.length === 0);
}

/** Checks the deprecation warning, which is sent as a header. */
function checkDeprecation(field: string, version: DefinitionVersion, violations: DefinitionViolations): void {
  const { deprecated = false, deprecationWarning } = version;
  if (deprecationWarning === undefined) return;
  const place = `${field}.deprecationWarning`;
  if (!deprecated) violations.invalid(place, deprecationWarning, 'can only be set for deprecated versions');
  else if (!/^[\x20-\x7e]{1,256}$/.test(deprecationWarning))
    violations.invalid(place, deprecationWarning, 'must be 1 to 256 printable ASCII characters');
}

function checkScale(field: string, scale: ScaleSubresource, violations: DefinitionViolations): void {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
  checkPath(`${field}.specReplicasPath`, specReplicasPath, { below: ['.spec.'], violations });
  checkPath(`${field}.statusReplicasPath`, statusReplicasPath, { below: ['.status.'], violations });
  if (labelSelectorPath !== undefined && labelSelectorPath !== '')
    checkPath(`${field}.labelSelectorPath`, labelSelectorPath, { below: ['.spec.', '.status.'], violations });
}

interface PathRule {
  readonly below: readonly string[];
  readonly violations: DefinitionViolations;
}

/** Checks that a path consists of fields joined by dots, without lists and filters, and begins with one of `below`. */
function checkPath(field: string, path: string, { below, violations }: PathRule): void {
  const isSimple = /^(?:\.[A-Za-z_][\w-]{0,62}){2,16}$/.test(path);
  if (!isSimple) violations.invalid(field, path, 'should be a json path of fields without array notation');
  else if (!below.some((prefix) => path.startsWith(prefix)))
    violations.invalid(
      field,
      path,
      `should be a json path under ${below.map((each) => each.slice(0, -1)).join(' or ')}`,
    );
}
