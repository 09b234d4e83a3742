import { BasePlugin } from 'homeostat';
import { personController } from './person-controller.ts';
import { Person } from './person.ts';

export default class ContactsPlugin extends BasePlugin {
  override async start(): Promise<void> {
    // A model without its own indexes has the four that every model has.
    this.schemeManager.register(Person);
    this.controllers.add(personController);
  }
}
