import { AbstractExtension } from './define/abstract-extension.ts';
import { GVK } from './define/gvk.ts';
import { Schema } from './define/schema.ts';

/**
 * The example model in section 2.7 of the specification, revision 2.15. The class Person refers to itself through the
 * field `spec.otherPerson`.
 */
@GVK({ group: 'people.example.com', version: 'v1alpha1', kind: 'Person', plural: 'persons', singular: 'person' })
export class Person extends AbstractExtension {
  @Schema({ requireMode: 'REQUIRED', type: () => PersonSpec }) spec!: PersonSpec;
  @Schema({ type: () => PersonStatus }) status?: PersonStatus;
}

@Schema({ name: 'PersonSpec' })
export class PersonSpec {
  @Schema({ type: 'string', maxLength: 100, description: 'Full name' }) name!: string;
  @Schema({ type: 'integer', minimum: 0, maximum: 150 }) age?: number;
  @Schema({ enum: ['MALE', 'FEMALE'] }) gender?: 'MALE' | 'FEMALE';
  @Schema({ type: 'array', items: { type: 'string' } }) tags?: string[];
  @Schema({ type: () => Person }) otherPerson?: Person;
}

@Schema()
export class PersonStatus {
  @Schema({ type: 'string' }) greeting?: string;
}

/** The example model of revision 2.9 of the specification: the fields are on the model itself, not in `spec`. */
@GVK({ group: 'old.example.com', version: 'v1alpha1', kind: 'Person', plural: 'persons' })
export class FlatPerson extends AbstractExtension {
  @Schema({ type: 'string', maxLength: 100 }) name?: string;
  @Schema({ type: 'integer', minimum: 0, maximum: 150 }) age?: number;
  @Schema({ enum: ['MALE', 'FEMALE'] }) gender?: 'MALE' | 'FEMALE';
  @Schema({ type: () => FlatPerson }) otherPerson?: FlatPerson;
}
