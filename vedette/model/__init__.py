"""What a process, a segment, an event and a field are: frozen values and the field catalogue."""
