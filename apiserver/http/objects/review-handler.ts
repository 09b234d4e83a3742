import { apiVersionOf, metadataShapeErrors } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { BodyCodec } from '../../decode/body-codec.ts';
import { messageOf } from '../../protobuf/object-messages.ts';
import { badRequest, invalid } from '../../registry/object/resource-errors.ts';
import { answerReview } from '../../reviews/answer-review.ts';
import type { ReviewSpec } from '../../reviews/answer-review.ts';
import { reviewKinds } from '../../reviews/review-kinds.ts';
import type { ReviewParts } from '../../reviews/answer-review.ts';
import { compileSchema } from '../../schema/compile-schema.ts';
import { negotiate } from '../request/accept.ts';
import { callerOf } from '../request/request-state.ts';
import { contradictsPath, methodNotAllowed } from '../request/path-errors.ts';
import { readObjectBody, typedBody } from '../request/object-body.ts';
import type { ResourcePath } from '../request/resource-path.ts';
import { sendBytes } from '../response/responses.ts';
import { readWriteOptions } from '../request/write-options.ts';

interface ReviewBody {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly metadata?: unknown;
  readonly spec?: ReviewSpec;
}

/** Responds to a POST of a review with the review's status. */
export class ReviewHandler {
  readonly #parts: ReviewParts;
  readonly #bodies: BodyCodec;

  constructor(parts: ReviewParts, bodies: BodyCodec) {
    this.#parts = parts;
    this.#bodies = bodies;
  }

  /** Returns the kind of review at a path; undefined for any other path. */
  find({ group, version, plural, name }: ResourcePath): ModelDescriptor | undefined {
    if (name !== undefined) return undefined;
    return reviewKinds.find((each) => each.plural === plural && each.group === group && each.version === version);
  }

  async handle(context: Context, path: ResourcePath, model: ModelDescriptor): Promise<void> {
    if (context.method !== 'POST') throw methodNotAllowed(context, model);
    const { format } = negotiate(context.headers.accept, ['json', 'yaml', 'problem', 'protobuf']);
    readWriteOptions(context, 'CreateOptions');
    const sent = await readObjectBody(context, this.#bodies, messageOf(model));
    const body = typedBody({ model, apiVersion: apiVersionOf(model) }, sent)();
    const { spec = {}, metadata = {} } = readReview(model, body);
    const asked = { ...this.#parts, caller: callerOf(context), namespace: path.namespace };
    const status = await answerReview(model, spec, asked);
    const answer = { kind: model.kind, apiVersion: apiVersionOf(model), metadata, spec, status };
    context.status = 201;
    sendBytes(context, Buffer.from(JSON.stringify(answer)), format);
  }
}

function readReview(model: ModelDescriptor, body: unknown): ReviewBody {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) {
    throw badRequest(`the object provided is unrecognized (must be of type ${model.kind}): expected an object`);
  }
  const review: ReviewBody = body;
  checkField('apiVersion', review.apiVersion, apiVersionOf(model));
  checkField('kind', review.kind, model.kind);
  const [wrong] = metadataShapeErrors(review.metadata ?? {});
  if (wrong !== undefined) throw badRequest(`${wrong.field}: ${wrong.message}`, [wrong]);
  // A schema is compiled at its first use, because most servers never receive most kinds of reviews.
  const schema = compileSchema(model);
  schema.applyDefaults(body);
  schema.prune(body);
  const causes = schema.validate(body);
  if (causes.length > 0) throw invalid(model, '', causes);
  return review;
}

function checkField(field: 'apiVersion' | 'kind', value: unknown, expected: string): void {
  if (value === expected) return;
  throw contradictsPath(field, value, expected);
}
