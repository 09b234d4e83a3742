import { ApiError, isJsonObject, statusCodes } from '@homeostat/controller-runtime/api';
import type { ApiObject, JsonObject, StatusReason } from '@homeostat/controller-runtime/api';
import type { AdmissionOperation } from '../matching/match-rules.ts';

/** A group, a version and a kind. */
interface ReviewedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface ReviewedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** The request of an AdmissionReview (admission.k8s.io/v1). */
export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: ReviewedKind;
  readonly resource: ReviewedResource;
  readonly subResource?: string;
  readonly requestKind: ReviewedKind;
  readonly requestResource: ReviewedResource;
  readonly requestSubResource?: string;
  readonly name: string;
  readonly namespace?: string;
  readonly operation: AdmissionOperation;
  readonly userInfo: object;
  readonly object: object | null;
  readonly oldObject: object | null;
  readonly dryRun: boolean;
  readonly options: object | null;
}

/** The decision of a webhook. */
export interface AdmissionVerdict {
  readonly isAllowed: boolean;
  /** A JSON patch; undefined when the webhook changes nothing. */
  readonly patch: unknown;
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
  /** The Status with which the webhook refuses. */
  readonly result: JsonObject;
}

/** The maximum number of warnings of one response. */
const maxWarnings = 64;
/** The maximum length of a warning. Longer warnings are truncated, as in Kubernetes. */
const maxWarningLength = 256;

/** The maximum number of audit annotations of one response. Further annotations are dropped. */
const maxAnnotations = 64;
/** The maximum length of the value of an audit annotation. Longer values are truncated. */
const maxAnnotationLength = 10 * 1024;

/** The maximum length of a patch in base64. */
const maxPatchLength = 4 * 1024 * 1024;

/** Returns the first of these versions of AdmissionReview that the server knows (`v1`, `v1beta1`); `v1` if none. */
export function reviewVersionOf(accepted: readonly string[]): string {
  return accepted.find((version) => version === 'v1' || version === 'v1beta1') ?? 'v1';
}

export function reviewBody(request: AdmissionRequest, version: string): string {
  return JSON.stringify({ kind: 'AdmissionReview', apiVersion: `admission.k8s.io/${version}`, request });
}

/**
 * Reads an AdmissionReview with a response. @throws Error for anything else, with the wording of kube-apiserver if
 * kube-apiserver has a message for it
 */
export function readVerdict(
  review: unknown,
  { uid, version, mayPatch }: { readonly uid: string; readonly version: string; readonly mayPatch: boolean },
): AdmissionVerdict {
  const { apiVersion = '', kind = '', response }: JsonObject = isJsonObject(review) ? review : {};
  const expected = `admission.k8s.io/${version}, Kind=AdmissionReview`;
  const got = `${String(apiVersion)}, Kind=${String(kind)}`;
  if (!isJsonObject(response)) throw new Error('webhook response was absent');
  if (got !== expected) throw new Error(`expected webhook response of ${expected}, got ${got.slice(0, 128)}`);
  if (response['uid'] !== uid)
    throw new Error(
      `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response['uid'] ?? '').slice(0, 128)}`,
    );
  if (typeof response['allowed'] !== 'boolean') throw new Error('response.allowed is no boolean');
  return {
    isAllowed: response['allowed'],
    patch: readPatch(response, mayPatch, version),
    warnings: textsOf(response['warnings'])
      .slice(0, maxWarnings)
      .map((warning) => warning.slice(0, maxWarningLength)),
    auditAnnotations: annotationsOf(response['auditAnnotations']),
    result: isJsonObject(response['status']) ? response['status'] : {},
  };
}

function readPatch({ patch, patchType }: JsonObject, mayPatch: boolean, version: string): unknown {
  const has = (value: unknown): boolean => value !== undefined && value !== null && value !== '';
  if (!mayPatch) {
    if (has(patch)) throw new Error('validating webhook may not return response.patch');
    if (has(patchType)) throw new Error('validating webhook may not return response.patchType');
    return undefined;
  }
  if (!has(patch)) {
    if (has(patchType) && version === 'v1')
      throw new Error('webhook returned response.patchType but not response.patch');
    return undefined;
  }
  if (!has(patchType) && version === 'v1')
    throw new Error('webhook returned response.patch but not response.patchType');
  if (has(patchType) && patchType !== 'JSONPatch')
    throw new Error(`webhook returned invalid response.patchType of ${JSON.stringify(patchType).slice(0, 64)}`);
  if (typeof patch !== 'string' || patch.length > maxPatchLength)
    throw new Error(`response.patch must be a string of at most ${maxPatchLength} characters`);
  return parsePatch(patch);
}

function parsePatch(patch: string): unknown {
  try {
    return JSON.parse(Buffer.from(patch, 'base64').toString('utf8'));
  } catch (cause) {
    throw new Error('received undecodable patch in webhook response', { cause });
  }
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
}

function annotationsOf(value: unknown): Readonly<Record<string, string>> {
  if (!isJsonObject(value)) return {};
  const known = Object.entries(value)
    .filter((entry): entry is [string, string] => typeof entry[1] === 'string')
    .slice(0, maxAnnotations)
    .map(([key, text]) => [key.slice(0, 128), text.slice(0, maxAnnotationLength)] as const);
  return Object.fromEntries(known);
}

/**
 * The reasons that a webhook may give for a refusal. Any other reason is replaced by a reason for the status code.
 * NotFound and AlreadyExists are not in the list, because the server would take them to mean that the object of the
 * write does not exist, or already exists.
 */
const knownReasons: readonly StatusReason[] = [
  'BadRequest',
  'Unauthorized',
  'Forbidden',
  'Conflict',
  'Gone',
  'Invalid',
  'RequestEntityTooLarge',
  'TooManyRequests',
  'InternalError',
  'ServiceUnavailable',
  'Timeout',
];

const maxMessageLength = 4096;

/** Returns the error for a write that a webhook refuses, with the wording of kube-apiserver. */
export function refusalBy(name: string, { result }: AdmissionVerdict): ApiError {
  const { message, reason, code } = result;
  const denied = `admission webhook ${JSON.stringify(name)} denied the request`;
  const text = [message, reason].find((each): each is string => typeof each === 'string' && each !== '');
  const words = text === undefined ? `${denied} without explanation` : `${denied}: ${text}`;
  const known = knownReasons.find((each) => each === reason) ?? reasonFor(code);
  return new ApiError(known, words.slice(0, maxMessageLength));
}

/**
 * Returns the reason for the status code of a refusal. The reason is BadRequest for a refusal without a code, or with a
 * code below 400, as in Kubernetes. It is Forbidden for any other code that does not belong to one of the
 * {@link knownReasons}.
 */
function reasonFor(code: unknown): StatusReason {
  if (typeof code !== 'number' || code < 400) return 'BadRequest';
  return knownReasons.find((reason) => statusCodes[reason] === code) ?? 'Forbidden';
}

/** Returns the error (500) for a webhook that gave no valid response, with the wording of kube-apiserver. */
export function failedCall(name: string, cause: Error): ApiError {
  const words = `failed calling webhook ${JSON.stringify(name)}: ${cause.message}`;
  return new ApiError('InternalError', `Internal error occurred: ${words}`, { cause });
}

/**
 * Returns the object as webhooks receive it. Leaves out an empty resourceVersion, which an object has until it is
 * stored.
 */
export function reviewedObject(object: ApiObject | undefined): object | null {
  if (object === undefined) return null;
  const { resourceVersion, ...metadata } = object.metadata;
  if (resourceVersion !== '') return object;
  return { ...object, metadata };
}
