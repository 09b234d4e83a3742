import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { typeMeta } from './decode-object.ts';
import type { FieldType, Message, MessageField } from './message.ts';
import {
  answerMessageOf,
  deleteOptionsMessage,
  listMetaMessage,
  messageOf,
  watchEventMessage,
} from './object-messages.ts';

/** The fields that Kubernetes publishes for each message, by the full name of the message. */
const file = new URL('../../../test/vectors/protobuf-fields.json', import.meta.url);
const { messages } = JSON.parse(readFileSync(file, 'utf8')) as {
  readonly messages: Readonly<Record<string, Readonly<Record<string, readonly [number: number, type: string]>>>>;
};

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1';
const extensions = 'k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1';
const runtime = 'k8s.io.apimachinery.pkg.runtime';

/** The kinds that the server reads and writes as protobuf messages, by apiVersion. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  v1: ['Namespace', 'Event', 'Secret', 'ConfigMap', 'ResourceQuota', 'ServiceAccount'],
  'events.k8s.io/v1': ['Event'],
  'coordination.k8s.io/v1': ['Lease'],
  'rbac.authorization.k8s.io/v1': ['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding'],
  'authentication.k8s.io/v1': ['TokenRequest', 'TokenReview', 'SelfSubjectReview'],
  'authorization.k8s.io/v1': [
    'SelfSubjectAccessReview',
    'SubjectAccessReview',
    'LocalSubjectAccessReview',
    'SelfSubjectRulesReview',
  ],
  'admissionregistration.k8s.io/v1': [
    'MutatingWebhookConfiguration',
    'ValidatingWebhookConfiguration',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
  ],
  'apiextensions.k8s.io/v1': ['CustomResourceDefinition'],
};

/** Returns the package of a group: usually `k8s.io.api.<first label of the group>.v1`. */
function packageOf(apiVersion: string): string {
  if (apiVersion === 'apiextensions.k8s.io/v1') return extensions;
  const group = apiVersion.includes('/') ? (apiVersion.split('.')[0] ?? '') : 'core';
  return `k8s.io.api.${group}.v1`;
}

/** The names in JSON that do not follow from the names in protobuf by the rules of {@link jsonNameOf}. */
const jsonNames: Readonly<Record<string, string>> = {
  [`${extensions}.JSONSchemaProps.schema`]: '$schema',
  [`${extensions}.JSONSchemaProps.ref`]: '$ref',
  [`${extensions}.JSONSchemaPropsOrArray.schema`]: 'object',
  [`${extensions}.JSONSchemaPropsOrArray.jSONSchemas`]: 'list',
  [`${extensions}.JSONSchemaPropsOrBool.allows`]: 'flag',
  [`${extensions}.JSONSchemaPropsOrBool.schema`]: 'object',
  [`${extensions}.JSONSchemaPropsOrStringArray.schema`]: 'object',
  [`${extensions}.JSONSchemaPropsOrStringArray.property`]: 'list',
  'k8s.io.api.authentication.v1.BoundObjectReference.uID': 'uid',
  'k8s.io.api.admissionregistration.v1.RuleWithOperations.rule': '',
  'k8s.io.api.admissionregistration.v1.NamedRuleWithOperations.ruleWithOperations': '',
};

/** The published fields that no message of this server has, each with the reason. */
const leftOut: Readonly<Record<string, string>> = {
  [`${meta}.ObjectMeta.selfLink`]: 'clients send it empty, and servers since 1.20 do not set it',
  [`${meta}.ListMeta.selfLink`]: 'servers since 1.20 do not set it',
  [`${meta}.DeleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential`]: 'it is ignored in JSON as well',
  [`${meta}.WatchEvent.object`]:
    '`encodeProtobufEvent` adds this field: it holds a complete object in an envelope, not a message',
};

/**
 * Maps the name of a field's type in Kubernetes' protobuf definitions to its name in this server's tables, for types
 * with different names.
 */
const forms: Readonly<Record<string, Exclude<FieldType, Message>>> = {
  bool: 'boolean',
  int32: 'integer',
  int64: 'integer',
  [`${meta}.Time`]: 'time',
  [`${meta}.MicroTime`]: 'microTime',
  [`${meta}.FieldsV1`]: 'json',
  [`${extensions}.JSON`]: 'json',
  'k8s.io.api.authentication.v1.ExtraValue': 'texts',
  'k8s.io.api.authorization.v1.ExtraValue': 'texts',
  'k8s.io.apimachinery.pkg.api.resource.Quantity': 'quantity',
};

function jsonNameOf(message: string, field: string): string {
  const special = jsonNames[`${message}.${field}`];
  if (special !== undefined) return special;
  if (/^xKubernetes[A-Z]/.test(field)) return field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return field.charAt(0).toLowerCase() + field.slice(1);
}

/** Returns a published type without `[]` and `map<>`. */
function elementOf(type: string): string {
  return type.replace('[]', '').replace(/^map<(.*)>$/, '$1');
}

/**
 * Returns a line for each field of a published message, and for each field of the messages inside this message:
 * `<message>: <number> <name in JSON> <type>`.
 */
function published(message: string, lines: Set<string> = new Set()): Set<string> {
  for (const [field, [number, type]] of Object.entries(messages[message] ?? {})) {
    const element = elementOf(type);
    const form = forms[element] ?? element;
    const line = `${message}: ${number} ${jsonNameOf(message, field)} ${type.replace(element, form)}`;
    if (leftOut[`${message}.${field}`] !== undefined || lines.has(line)) continue;
    lines.add(line);
    published(form, lines);
  }
  return lines;
}

/**
 * Returns a line for each field of `message`, which is from this server's tables, and for each field of the messages
 * inside `message`, in the format of {@link published}. The tables have no names of messages. If the type of a field is
 * a message, the line contains the type that the field with the same number has in Kubernetes' definitions.
 */
function ours(message: Message, name: string, lines: Set<string> = new Set()): Set<string> {
  for (const [number, field] of message) {
    const type = Object.values(messages[name] ?? {}).find(([each]) => each === number)?.[1] ?? 'of no such field';
    const element = typeof field.type === 'string' ? field.type : elementOf(type);
    const line = `${name}: ${number} ${field.name} ${repeated(field, type, element)}`;
    if (lines.has(line)) continue;
    lines.add(line);
    if (typeof field.type !== 'string') ours(field.type, element, lines);
  }
  return lines;
}

function repeated({ is }: MessageField, type: string, element: string): string {
  if (is === 'map') return `map<${element}>`;
  return is === 'list' || (is === 'shown' && type.endsWith('[]')) ? `${element}[]` : element;
}

function expectPublished(message: Message | undefined, name: string): void {
  if (message === undefined) throw new Error(`${name} has no message`);
  const expected = [...published(name)];
  expect(expected, name).to.have.length.greaterThan(0);
  expect([...ours(message, name)].sort(), name).to.deep.equal(expected.sort());
}

describe('the field numbers of protobuf messages', () => {
  for (const [apiVersion, names] of Object.entries(kinds))
    for (const kind of names) {
      it(`are the published ones for ${apiVersion} ${kind}`, () => {
        const [version = '', group = ''] = apiVersion.split('/').reverse();
        const message = messageOf({ group, version, kind });
        expectPublished(message, `${packageOf(apiVersion)}.${kind}`);
        expect(answerMessageOf(apiVersion, kind)).to.equal(message);
      });
    }

  it('are the published ones for Status, DeleteOptions, the metadata of lists, and watch events', () => {
    expectPublished(answerMessageOf('v1', 'Status'), `${meta}.Status`);
    expectPublished(deleteOptionsMessage, `${meta}.DeleteOptions`);
    expectPublished(listMetaMessage, `${meta}.ListMeta`);
    expectPublished(watchEventMessage, `${meta}.WatchEvent`);
  });

  it('are the published ones for the envelope, lists and embedded objects', () => {
    expectPublished(typeMeta, `${runtime}.TypeMeta`);
    expect(messages[`${runtime}.Unknown`]).to.deep.include({ typeMeta: [1, `${runtime}.TypeMeta`], raw: [2, 'bytes'] });
    expect(messages['k8s.io.api.core.v1.ConfigMapList']).to.deep.equal({
      metadata: [1, `${meta}.ListMeta`],
      items: [2, 'k8s.io.api.core.v1.ConfigMap[]'],
    });
    expect(messages[`${meta}.WatchEvent`]).to.deep.include({ object: [2, `${runtime}.RawExtension`] });
    expect(messages[`${runtime}.RawExtension`]).to.deep.equal({ raw: [1, 'bytes'] });
  });
});
