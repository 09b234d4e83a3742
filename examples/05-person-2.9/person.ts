import { AbstractExtension, GVK, Schema } from 'homeostat';

export type Gender = 'MALE' | 'FEMALE';

/** The example model of the specification, revision 2.9: no spec, the fields are on the model itself. */
@GVK({ group: 'contacts.example.com', version: 'v1alpha1', kind: 'Person', plural: 'persons', singular: 'person' })
export class Person extends AbstractExtension {
  @Schema({ type: 'string', maxLength: 100, description: 'Full name' }) name?: string;
  @Schema({ type: 'integer', minimum: 0, maximum: 150 }) age?: number;
  @Schema({ enum: ['MALE', 'FEMALE'] }) gender?: Gender;
  @Schema({ type: () => Person }) otherPerson?: Person;
  @Schema({ type: () => PersonStatus }) status?: PersonStatus;
}

/** The observations of the controller. */
@Schema({ name: 'PersonStatus' })
export class PersonStatus {
  @Schema({ type: 'integer', minimum: 0, description: 'Persons along otherPerson' }) acquaintances?: number;
  @Schema({ type: 'integer', description: 'Generation of the object when its acquaintances were counted' })
  observedGeneration?: number;
}
