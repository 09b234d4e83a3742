import { AbstractExtension, GVK, Schema } from 'homeostat';

export type Gender = 'MALE' | 'FEMALE';

/** The example model of the specification, revision 2.15. */
@GVK({ group: 'people.example.com', version: 'v1alpha1', kind: 'Person', plural: 'persons', singular: 'person' })
export class Person extends AbstractExtension {
  @Schema({ requireMode: 'REQUIRED', type: () => PersonSpec }) spec!: PersonSpec;
  @Schema({ type: () => PersonStatus }) status?: PersonStatus;
}

/** The desired state of a person. */
@Schema({ name: 'PersonSpec' })
export class PersonSpec {
  @Schema({ type: 'string', maxLength: 100, description: 'Full name' }) name?: string;
  @Schema({ type: 'integer', minimum: 0, maximum: 150 }) age?: number;
  @Schema({ enum: ['MALE', 'FEMALE'] }) gender?: Gender;
  @Schema({ type: 'array', items: { type: 'string' } }) tags?: string[];
  @Schema({ type: () => Person }) otherPerson?: Person;
}

/** The observations and results of the controller. */
@Schema({ name: 'PersonStatus' })
export class PersonStatus {
  @Schema({ type: 'string' }) greeting?: string;
  @Schema({ enum: ['Greeted'] }) phase?: 'Greeted';
  @Schema({ type: 'integer', description: 'Generation of the spec that the greeting is for' })
  observedGeneration?: number;
}
