/** Remove the mark that some editors and PowerShell put before a text in UTF-8. */
export function removeByteOrderMark(text: string): string {
  return text.replace(/^\ufeff/, '')
}
