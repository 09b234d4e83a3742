import { BasePlugin } from 'homeostat';
import { personController } from './person-controller.ts';
import { Person } from './person.ts';

export default class ContactsPlugin extends BasePlugin {
  override async start(): Promise<void> {
    // A model that declares no indexes has only the four default indexes of every model.
    this.schemeManager.register(Person);
    this.controllers.add(personController);
  }
}
