/**
 * The key of a form: it starts anew when what is stored of its own fields changes, and keeps what was typed when something
 * else of the same thing does.
 */
export const formKey = (...stored: readonly unknown[]): string => JSON.stringify(stored)
