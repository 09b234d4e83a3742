import { AbstractExtension, GVK, Schema } from 'homeostat';

/** A model of revision 2.9: its fields are at the top level, as fields of the class. */
@GVK({ group: 'contacts.example.com', version: 'v1', kind: 'Contact', plural: 'contacts', singular: 'contact' })
export class Contact extends AbstractExtension {
  @Schema({ requireMode: 'REQUIRED', type: 'string', maxLength: 100 }) name!: string;
  @Schema({ type: 'integer', minimum: 0, maximum: 150 }) age?: number;
  @Schema({ enum: ['MALE', 'FEMALE'] }) gender?: 'MALE' | 'FEMALE';
  @Schema({ type: 'string', default: 'en' }) language?: string;
  @Schema({ type: () => ContactCard }) card?: ContactCard;
  @Schema({ type: () => Contact }) otherContact?: Contact;
  @Schema({ type: () => ContactStatus }) status?: ContactStatus;
}

@Schema()
export class ContactCard {
  @Schema({ type: 'string' }) street?: string;
  @Schema({ type: 'string', default: 'CH' }) country?: string;
}

@Schema()
export class ContactStatus {
  @Schema({ type: 'string' }) greeting?: string;
  @Schema({ type: 'integer' }) observedGeneration?: number;
}
