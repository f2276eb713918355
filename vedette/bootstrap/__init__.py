"""The wiring: settings to engines to application. The only package that names concrete engines."""
