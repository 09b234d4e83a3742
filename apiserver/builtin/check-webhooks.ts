import { checkDnsSubdomain } from '@homeostat/controller-runtime/api';
import type { FieldViolation } from '@homeostat/controller-runtime/api';
import { conditionProblem } from '../cel/conditions/match-conditions.ts';
import {
  duplicate,
  firstViolations,
  invalidField,
  isEmptyList,
  notSupported,
  required,
  selectorViolations,
} from './field-violations.ts';
import type { Webhook, WebhookClientConfig, WebhookConfiguration } from './objects/webhook-objects.ts';

type Found = Generator<FieldViolation>;

/** The maximum number of webhooks of one configuration. */
const maxWebhooks = 100;

/** Kubernetes' limit. */
const maxMatchConditions = 64;

/** Checks a configuration of webhooks by Kubernetes' rules, and returns the violations. */
export function checkWebhooks({ webhooks = [] }: WebhookConfiguration): readonly FieldViolation[] {
  if (webhooks.length > maxWebhooks) {
    const message = `Too many: ${webhooks.length}: must have at most ${maxWebhooks} items`;
    return [{ reason: 'FieldValueTooMany', field: 'webhooks', message }];
  }
  return firstViolations(violationsOf(webhooks));
}

function* violationsOf(webhooks: readonly Webhook[]): Found {
  const names = new Set<string>();
  for (const [index, webhook] of webhooks.entries()) {
    const field = `webhooks[${index}]`;
    yield* webhookOf(webhook, field);
    if (webhook.name !== '' && names.has(webhook.name)) yield duplicate(`${field}.name`, webhook.name);
    names.add(webhook.name);
  }
}

function* webhookOf(webhook: Webhook, field: string): Found {
  yield* nameOf(webhook.name, `${field}.name`);
  for (const [index, rule] of (webhook.rules ?? []).entries()) yield* checkRule(rule, `${field}.rules[${index}]`);
  yield* choiceViolations(webhook.failurePolicy, `${field}.failurePolicy`, ['Fail', 'Ignore']);
  yield* choiceViolations(webhook.matchPolicy, `${field}.matchPolicy`, ['Equivalent', 'Exact']);
  yield* choiceViolations(webhook.sideEffects, `${field}.sideEffects`, ['None', 'NoneOnDryRun']);
  yield* choiceViolations(webhook.reinvocationPolicy, `${field}.reinvocationPolicy`, ['IfNeeded', 'Never']);
  const { timeoutSeconds } = webhook;
  if (timeoutSeconds < 1 || timeoutSeconds > 30)
    yield invalidField(`${field}.timeoutSeconds`, timeoutSeconds, 'the timeout value must be between 1 and 30 seconds');
  yield* selectorViolations(webhook.namespaceSelector ?? {}, `${field}.namespaceSelector`);
  yield* selectorViolations(webhook.objectSelector ?? {}, `${field}.objectSelector`);
  yield* checkClientConfig(webhook.clientConfig, `${field}.clientConfig`);
  yield* conditionsOf(webhook, `${field}.matchConditions`);
  yield* expressionsOf(webhook, `${field}.matchConditions`);
  yield* checkReviewVersions(webhook.admissionReviewVersions, `${field}.admissionReviewVersions`);
}

function* nameOf(name: string, field: string): Found {
  if (name === '') return void (yield required(field));
  for (const rule of checkDnsSubdomain(name)) yield invalidField(field, name, rule);
  if (name.split('.').length < 3)
    yield invalidField(field, name, 'should be a domain with at least three segments separated by dots');
}

/** Yields a violation if a value is not one of the supported values. */
export function* choiceViolations(value: string | undefined, field: string, supported: readonly string[]): Found {
  if (value !== undefined && !supported.includes(value)) yield notSupported(field, value, supported);
}

const operations: readonly string[] = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const scopes: readonly string[] = ['*', 'Cluster', 'Namespaced'];

/** Checks one rule of a webhook or a policy by Kubernetes' rules, and yields the violations. */
export function* checkRule(rule: NonNullable<Webhook['rules']>[number], field: string): Found {
  const { apiGroups, apiVersions, resources } = rule;
  if (isEmptyList(rule.operations)) yield required(`${field}.operations`);
  yield* wildcardOf(rule.operations, `${field}.operations`, 'operations');
  for (const [index, operation] of (rule.operations ?? []).entries())
    yield* choiceViolations(operation, `${field}.operations[${index}]`, operations);
  if (isEmptyList(apiGroups)) yield required(`${field}.apiGroups`);
  yield* wildcardOf(apiGroups, `${field}.apiGroups`, 'API groups');
  if (isEmptyList(apiVersions)) yield required(`${field}.apiVersions`);
  yield* wildcardOf(apiVersions, `${field}.apiVersions`, 'API versions');
  for (const [index, version] of (apiVersions ?? []).entries())
    if (version === '') yield required(`${field}.apiVersions[${index}]`);
  yield* resourcesOf(resources ?? [], `${field}.resources`);
  yield* choiceViolations(rule.scope, `${field}.scope`, scopes);
}

function* wildcardOf(list: readonly string[] | undefined, field: string, what: string): Found {
  if (list !== undefined && list.length > 1 && list.includes('*'))
    yield invalidField(field, list, `if '*' is present, must not specify other ${what}`);
}

function* resourcesOf(resources: readonly string[], field: string): Found {
  if (resources.length === 0) yield required(field);
  const wholes = new Set<string>();
  const parts = new Set<string>();
  for (const [index, resource] of resources.entries()) {
    const at = `${field}[${index}]`;
    if (resource === '') yield required(at);
    const [name = '', ...rest] = resource.split('/');
    if (rest.length === 0) continue;
    const part = rest.join('/');
    if (wholes.has(name)) yield invalidField(at, resource, `if '${name}/*' is present, must not specify ${resource}`);
    if (parts.has(part)) yield invalidField(at, resource, `if '*/${part}' is present, must not specify ${resource}`);
    if (part === '*') wholes.add(name);
    if (name === '*') parts.add(part);
  }
  if (resources.length > 1 && resources.includes('*/*'))
    yield invalidField(field, resources, "if '*/*' is present, must not specify other resources");
  if (resources.includes('*') && resources.some((each) => each !== '*' && !each.includes('/')))
    yield invalidField(field, resources, "if '*' is present, must not specify other resources without subresources");
}

/**
 * Yields the violations in the address of a webhook: of an admission webhook, or of a webhook that converts objects.
 */
export function* checkClientConfig(config: WebhookClientConfig, field: string): Found {
  const { url, service } = config;
  if ((url === undefined) === (service === undefined))
    return void (yield required(field, 'exactly one of url or service is required'));
  if (url !== undefined) yield* urlOf(url, `${field}.url`);
  if (service !== undefined) yield* serviceOf(service, `${field}.service`);
}

function* urlOf(url: string, field: string): Found {
  const form = '; desired format: https://host[/path]';
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) {
    yield invalidField(field, url, `'https' is the only allowed URL scheme${form}`);
    yield invalidField(field, '', `host must be provided${form}`);
    return;
  }
  if (parsed.protocol !== 'https:')
    yield invalidField(field, parsed.protocol.slice(0, -1), `'https' is the only allowed URL scheme${form}`);
  if (parsed.host === '') yield invalidField(field, '', `host must be provided${form}`);
  if (parsed.username !== '' || parsed.password !== '')
    yield invalidField(field, parsed.username, 'user information is not permitted in the URL');
  if (parsed.hash !== '') yield invalidField(field, parsed.hash.slice(1), 'fragments are not permitted in the URL');
  if (parsed.search !== '')
    yield invalidField(field, parsed.search.slice(1), 'query parameters are not permitted in the URL');
}

function* serviceOf(service: NonNullable<WebhookClientConfig['service']>, field: string): Found {
  const { name, namespace, path = '/', port = 443 } = service;
  if (name === '') yield required(`${field}.name`, 'service name is required');
  if (namespace === '') yield required(`${field}.namespace`, 'service namespace is required');
  if (port < 1 || port > 65_535)
    yield invalidField(`${field}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive');
  if (path === '' || path === '/') return;
  if (!path.startsWith('/')) yield invalidField(`${field}.path`, path, "must start with a '/'");
  const steps = path.replace(/^\//, '').replace(/\/$/, '').split('/');
  for (const [index, step] of steps.entries()) {
    if (step === '') yield invalidField(`${field}.path`, path, `segment[${index}] may not be empty`);
    else
      for (const rule of checkDnsSubdomain(step))
        yield invalidField(`${field}.path`, path, `segment[${index}]: ${rule}`);
  }
}

/**
 * Yields one violation for too many conditions; otherwise, one for each empty or repeated name, and for each empty
 * expression. Does not compile the expressions.
 */
export function* conditionsOf({ matchConditions = [] }: Pick<Webhook, 'matchConditions'>, field: string): Found {
  if (matchConditions.length > maxMatchConditions) {
    const message = `Too many: ${matchConditions.length}: must have at most ${maxMatchConditions} items`;
    return void (yield { reason: 'FieldValueTooMany', field, message });
  }
  const names = new Set<string>();
  for (const [index, { name, expression }] of matchConditions.entries()) {
    if (name === '') yield required(`${field}[${index}].name`);
    else if (names.has(name)) yield duplicate(`${field}[${index}].name`, name);
    names.add(name);
    if (expression.trim() === '') yield required(`${field}[${index}].expression`);
  }
}

/** The maximum number of characters of an expression. */
const maxExpressionLength = 10_240;

function* expressionsOf({ matchConditions = [] }: Webhook, field: string): Found {
  if (matchConditions.length > maxMatchConditions) return;
  for (const [index, { expression }] of matchConditions.entries()) {
    const at = `${field}[${index}].expression`;
    if (expression.trim() === '') continue;
    const problem = expression.length > maxExpressionLength ? 'too long' : conditionProblem(expression);
    if (problem !== undefined) yield invalidField(at, expression, problem);
  }
}

/** The versions of AdmissionReview that this server sends. */
const reviewVersions = ['v1', 'v1beta1'];
const labelRule =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const labelForm = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

/** Yields the violations in a list of review versions, for admission webhooks and for webhooks that convert objects. */
export function* checkReviewVersions(versions: readonly string[], field: string): Found {
  if (versions.length === 0) return void (yield required(field, `must specify one of ${reviewVersions.join(', ')}`));
  const known = new Set<string>();
  for (const [index, version] of versions.entries()) {
    if (known.has(version)) yield invalidField(`${field}[${index}]`, version, 'duplicate version');
    else if (!labelForm.test(version) || version.length > 63)
      yield invalidField(`${field}[${index}]`, version, labelRule);
    known.add(version);
  }
  if (!versions.some((version) => reviewVersions.includes(version)))
    yield invalidField(field, versions, `must include at least one of ${reviewVersions.join(', ')}`);
}
