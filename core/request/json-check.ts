import { JSON_COST_MAX, JSON_DEPTH_MAX } from '../limits.ts'
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  COST_OF_CONTAINER,
  COST_OF_NEW_NAME,
  COST_OF_NUMBER,
  COST_OF_VALUE,
  CR,
  endOfWord,
  Forms,
  isPlain,
  LF,
  NAME_LENGTH_MAX,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  READ_TWICE,
  SPACE,
  TAB,
} from './json-text.ts'
import { isChanged } from './json.ts'

const ZERO = 0x30
const SMALL_U = 0x75
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/
const LITERALS: ReadonlySet<string> = new Set(['true', 'false', 'null'])
/** The characters that follow a backslash, but for `u`. */
const ESCAPED: ReadonlySet<number> = new Set(Array.from('"\\/bfnrt', (one) => one.charCodeAt(0)))

/** The tokens that the grammar takes next. */
type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end'

/** Where a string is: behind a backslash, in its characters, or so many digits before the end of `\uXXXX`. */
const BEHIND_BACKSLASH = -1
const NO_ESCAPE = 0
const HEX_DIGITS = 4

/**
 * Checks a long JSON text that comes in pieces: whether `parseJson` would read it. A piece costs time by its length alone,
 * and nothing of it is kept but an unfinished word.
 */
export class JsonCheck {
  #expected: Expected = 'value'
  /** Whether each open container is an object, the outermost first. */
  readonly #open: boolean[] = []
  readonly #forms = new Forms()
  #cost = 0
  #costMax = JSON_COST_MAX
  #hasUnusual = false
  #isRefused = false
  #isInString = false
  #escape = NO_ESCAPE
  /** The text so far of a name, with its quotation marks, or of a number or a literal. */
  #kept = ''

  /** Reads on. Returns false when the text is refused, whatever comes behind it. */
  push(text: string): boolean {
    for (let at = 0; at < text.length && !this.#isRefused;) {
      at = this.#isInString ? this.#readString(text, at) : this.#readToken(text, at)
    }
    return !this.#isRefused
  }

  /** Returns whether the text is whole. */
  end(): boolean {
    if (this.#kept !== '' && !this.#isInString) this.#endWord(this.#kept)
    const isWhole = this.#open.length === 0 && this.#expected === 'comma or end'
    return isWhole && !this.#isInString && !this.#isRefused
  }

  #readToken(text: string, at: number): number {
    if (this.#kept !== '') return this.#readWord(text, at)
    const code = text.charCodeAt(at)
    switch (code) {
      case SPACE:
      case TAB:
      case LF:
      case CR:
        return at + 1
      case QUOTE:
        this.#beginString()
        return at + 1
      case COMMA:
        this.#readComma()
        return at + 1
      case COLON:
        this.#demand(this.#expected === 'colon')
        this.#expected = 'value'
        return at + 1
      case OPEN_BRACE:
      case OPEN_BRACKET:
        this.#openContainer(code === OPEN_BRACE)
        return at + 1
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        this.#closeContainer(code === CLOSE_BRACE)
        return at + 1
      default:
        return this.#readWord(text, at)
    }
  }

  #beginString(): void {
    this.#spend(COST_OF_VALUE)
    this.#isInString = true
    if (this.#expected === 'name' || this.#expected === 'name or end') this.#kept = '"'
    else this.#takeValue()
  }

  /** Passes the characters up to the end of the string, or of the piece. */
  #readString(text: string, start: number): number {
    let at = start
    let escape = this.#escape
    let isEnded = false
    for (; at < text.length && !isEnded; at += 1) {
      const code = text.charCodeAt(at)
      if (escape === NO_ESCAPE) {
        if (code === QUOTE) isEnded = true
        else if (code === BACKSLASH) escape = BEHIND_BACKSLASH
        else if (code < SPACE) return this.#refuse(text)
      } else if (escape === BEHIND_BACKSLASH) {
        if (code !== SMALL_U && !ESCAPED.has(code)) return this.#refuse(text)
        escape = code === SMALL_U ? HEX_DIGITS : NO_ESCAPE
      } else {
        if (!isHexDigit(code)) return this.#refuse(text)
        escape -= 1
      }
    }
    this.#escape = escape
    // A name that is longer is taken for new, whatever follows.
    if (this.#kept !== '' && this.#kept.length <= NAME_LENGTH_MAX) {
      this.#kept += text.slice(start, Math.min(at, start + NAME_LENGTH_MAX + 1))
    }
    if (isEnded) this.#endString()
    return at
  }

  #endString(): void {
    this.#isInString = false
    if (this.#kept === '') return
    if (this.#forms.isNew(this.#open.length, this.#kept)) this.#spend(COST_OF_NEW_NAME)
    this.#kept = ''
    this.#expected = 'colon'
  }

  /** A number or a literal, which may go on in the next piece. */
  #readWord(text: string, start: number): number {
    const isBegun = this.#kept !== ''
    // `endOfWord` does not look at the first character.
    const end = endOfWord(text, isBegun ? start - 1 : start)
    if (end === text.length) this.#kept += text.slice(start)
    else if (isBegun) this.#endWord(this.#kept + text.slice(start, end))
    else if (isPlain(text, start, end) && (end - start === 1 || text.charCodeAt(start) !== ZERO)) {
      this.#takeValue()
    } else this.#endWord(text.slice(start, end))
    return end
  }

  #endWord(word: string): void {
    this.#kept = ''
    this.#takeValue()
    if (LITERALS.has(word)) return
    this.#demand(NUMBER.test(word))
    if (isPlain(word, 0, word.length)) return
    this.#spend(COST_OF_NUMBER)
    if (this.#hasUnusual || !isChanged(word)) return
    this.#hasUnusual = true
    this.#costMax *= READ_TWICE
    this.#spend(0)
  }

  #takeValue(): void {
    this.#demand(this.#expected === 'value' || this.#expected === 'value or end')
    this.#expected = 'comma or end'
  }

  #readComma(): void {
    this.#demand(this.#expected === 'comma or end' && this.#open.length > 0)
    this.#spend(COST_OF_VALUE)
    this.#expected = this.#open.at(-1) === true ? 'name' : 'value'
  }

  #openContainer(isObject: boolean): void {
    this.#takeValue()
    this.#open.push(isObject)
    this.#demand(this.#open.length <= JSON_DEPTH_MAX)
    this.#forms.open(this.#open.length)
    this.#spend(COST_OF_CONTAINER)
    this.#expected = isObject ? 'name or end' : 'value or end'
  }

  #closeContainer(isObject: boolean): void {
    const empty = isObject ? 'name or end' : 'value or end'
    const isEnd = this.#expected === 'comma or end' || this.#expected === empty
    this.#demand(isEnd && this.#open.pop() === isObject)
    this.#expected = 'comma or end'
  }

  #spend(cost: number): void {
    this.#cost += cost
    this.#demand(this.#cost <= this.#costMax)
  }

  #demand(holds: boolean): void {
    if (!holds) this.#isRefused = true
  }

  #refuse(text: string): number {
    this.#isRefused = true
    return text.length
  }
}

function isHexDigit(code: number): boolean {
  const letter = code | 0x20
  return (code >= ZERO && code <= 0x39) || (letter >= 0x61 && letter <= 0x66)
}
